"""site.yaml and the files it names → a draft: each key by itself, so that one bad part hides no problem of another."""

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from metalwright.codec.annotations import keys_of, shape_at
from metalwright.codec.draft import Draft
from metalwright.codec.notebook import Notebook, Place, SpecPath, did_you_mean, quote
from metalwright.codec.shapes import decode
from metalwright.codec.site_files import YAML_LIMIT, FileRefused, SiteFiles, decode_text
from metalwright.codec.table_parts import CSV_PARTS, PurchaseFile, read_table_part
from metalwright.codec.yaml_tree import Plain, YamlTree, read_yaml
from metalwright.model.spec import FirmwareLine, ImageRecipe, ProfileSpec, SiteSpec

LISTS = ("racks", "objectives", "nodes", "purchase", "fabrics", "cables", "firmware", "images")
"""Keys that hold lists: their entries are judged one by one."""
IN_FILES = ("nodes", "purchase", "cables", "firmware", "images")
"""Keys whose value may be a file name instead of the list itself."""


@dataclass(slots=True)
class PartReader:
    """Reads one folder into one draft; what is wrong goes into the book."""

    files: SiteFiles
    book: Notebook
    draft: Draft = dataclasses.field(default_factory=Draft)

    def read(self) -> Draft:
        """Everything site.yaml says."""
        tree = self._yaml("site.yaml", (), Place(self.files.shown("site.yaml"), 0))
        if tree is None:
            return self.draft
        if not isinstance(tree.value, dict):
            self.book.blame((), "expected a block of keys", "start from a scaffold: `metalwright init DIR`")
            return self.draft
        self._keys(tree.value)
        for key, value in tree.value.items():
            if value is None and key in keys_of(SiteSpec):
                self.draft.unsure.add(key)
                self.book.blame((key,), "is empty", f"write the value of {key}, or remove the key")
            elif key in IN_FILES and not isinstance(value, list):
                self._file_part(key, value, tree)
            elif key in LISTS:
                self._list(key, value, tree)
            elif key == "profiles":
                self._profiles(value, tree)
            elif key in keys_of(SiteSpec):
                self.draft.values[key] = decode(shape_at(SiteSpec, (key,)), value, (key,), self.book, tree.texts)
        return self.draft

    def _keys(self, value: Mapping[str, Plain]) -> None:
        known = keys_of(SiteSpec)
        for key in value:
            if key not in known:
                self.book.blame((key,), f"unknown key {quote(key)}", did_you_mean(key, known, "keys here"))
        for item in dataclasses.fields(SiteSpec):
            required = item.default is dataclasses.MISSING and item.default_factory is dataclasses.MISSING
            if required and item.name not in value:
                self.draft.unsure.add(item.name)
                self.book.blame((), f"{item.name} is missing", f"add the key {item.name}; `metalwright init DIR` writes a complete example")

    def _list(self, key: str, value: Plain, tree: YamlTree) -> None:
        if not isinstance(value, list):
            self.draft.unsure.add(key)
            self.book.blame((key,), "expected a list", "start each entry with a hyphen")
            return
        self._items(key, enumerate(value), tree)

    def _items(self, key: str, items: Iterable[tuple[int, Plain]], tree: YamlTree) -> None:
        shape = shape_at(SiteSpec, (key, 0))
        kept = self.draft.items.setdefault(key, [])
        for index, raw in items:
            path = (key, index)
            if key == "images" and isinstance(raw, str):
                self._image(raw, path)
                continue
            self.draft.remember(key, raw)
            placed = raw | {"line": self.book.place(path).line} if key == "purchase" and isinstance(raw, dict) else raw
            found = decode(shape, placed, path, self.book, tree.texts)
            if found is not None:
                kept.append((path, found))

    def _profiles(self, value: Plain, tree: YamlTree) -> None:
        if not isinstance(value, dict) or not value:
            self.draft.unsure.add("profiles")
            self.book.blame(("profiles",), "expected profiles by name", "such as `compute: {base: hgx-h100-8}`")
            return
        kept = self.draft.items.setdefault("profiles", [])
        for name, raw in value.items():
            self.draft.names.setdefault("profiles", set()).add(name)
            found = decode(ProfileSpec, raw, ("profiles", name), self.book, tree.texts)
            if found is not None:
                kept.append((("profiles", name), found))
        self.draft.values["profiles"] = {str(path[1]): profile for path, profile in kept}

    def _file_part(self, key: str, value: Plain, tree: YamlTree) -> None:
        """A list that stands in a file of its own."""
        if key == "purchase" and isinstance(value, dict):
            found = decode(PurchaseFile, value, (key,), self.book, tree.texts)
            if found is not None:
                read_table_part(key, found, self.files, self.book, self.draft)
        elif not isinstance(value, str) or not value:
            self.draft.unsure.add(key)
            self.book.blame((key,), "is neither a list nor a file name", f"write {key}: {key}.csv, or the entries after hyphens")
        elif key == "images":
            self._images(value)
        elif key == "firmware" and value.endswith((".yaml", ".yml")):
            self._firmware(value)
        elif key in CSV_PARTS:
            read_table_part(key, PurchaseFile(file=value), self.files, self.book, self.draft)

    def _images(self, pattern: str) -> None:
        try:
            names = self.files.matching(pattern) if "*" in pattern else [pattern]
        except FileRefused as refused:
            self.draft.unsure.add("images")
            self.book.blame(("images",), refused.message, refused.hint)
            return
        if not names:
            self.book.blame(("images",), f"no file matches {quote(pattern)}", "add a recipe, or remove the key")
        for index, name in enumerate(names):
            self._image(name, ("images", index))

    def _image(self, name: str, path: SpecPath) -> None:
        tree = self._yaml(name, path, self.book.place(path))
        if tree is None:
            self.draft.unsure.add("images")
            return
        self.draft.remember("images", tree.value)
        found = decode(ImageRecipe, tree.value, path, self.book, tree.texts)
        if found is not None:
            self.draft.items.setdefault("images", []).append((path, found))

    def _firmware(self, name: str) -> None:
        tree = self._yaml(name, ("firmware",), self.book.place(("firmware",)))
        if tree is None:
            return
        if not isinstance(tree.value, list):
            self.book.blame(("firmware",), "expected a list", f"each entry has {', '.join(keys_of(FirmwareLine))}")
            return
        self._items("firmware", enumerate(tree.value), tree)

    def _yaml(self, name: str, root: SpecPath, named_at: Place) -> YamlTree | None:
        """A YAML file whose content stands at `root` of the spec. `named_at` is where the name was written."""
        shown = self.files.shown(name)
        try:
            text = decode_text(name, self.files.read(name, YAML_LIMIT), byte_order_mark=False)
        except FileRefused as refused:
            self.book.blame_place(named_at, refused.message, refused.hint, root)
            return None
        tree = read_yaml(text)
        for problem in tree.problems:
            self.book.blame_place(Place(shown, problem.line), problem.message, problem.hint)
        if tree.problems:
            return None
        for path, line in tree.lines.items():
            self.book.places[(*root, *path)] = Place(shown, line)
        tree.texts = {(*root, *path): text for path, text in tree.texts.items()}
        return tree
