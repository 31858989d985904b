"""A site folder → StoredSpec. All problems at once, each with file, line, path and what to do; never a traceback.

`site.yaml` is a careful subset of YAML 1.2 (`yaml_tree`), the lists it names stand in CSV, XLSX or YAML (`parts`, `table_parts`),
the classes of `model.spec` say what fits (`shapes`), and the parts must fit together (`references`).
"""

from pathlib import Path

from metalwright.codec.library import effective_profiles, profiles
from metalwright.codec.notebook import Notebook, Place
from metalwright.codec.parts import PartReader
from metalwright.codec.references import check_references
from metalwright.codec.site_files import SiteFiles
from metalwright.codec.spec_codec import spec_digest
from metalwright.model.spec import StoredSpec


def read_site(folder: Path) -> StoredSpec:
    """Read the folder. SpecError carries every problem found; nothing of a bad folder is used."""
    files = SiteFiles(folder)
    book = Notebook()
    book.places[()] = Place(files.shown("site.yaml"), 0)
    draft = PartReader(files=files, book=book).read()
    check_references(draft, profiles().values(), book)
    book.close()
    spec = draft.spec()
    effective, overrides = effective_profiles(spec.profiles)
    return StoredSpec(digest=spec_digest(spec, effective), spec=spec, profiles=effective, overrides=overrides)
