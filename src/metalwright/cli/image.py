"""`metalwright image build|list|show|verify`: the images of a site."""

import argparse
from pathlib import Path


def add_parser(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser("image", help="build, list, show or verify the site's images")
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, help_text in (
        ("build", "build what the site's recipes declare and is not built yet"),
        ("list", "what is built"),
        ("verify", "read every frame and compare it with the manifest"),
    ):
        action = actions.add_parser(name, help=help_text)
        action.add_argument("site", type=Path, nargs="?", default=Path("."))
        action.add_argument("--image", help="only this one, as name@version")
        action.add_argument("--json", action="store_true")
        action.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """0 done (verify: whole), 1 an image is altered, 3 a bad recipe, 4 a builder's tool failed."""
    from metalwright.cli.output import print_json
    from metalwright.service.image_work import build_images, list_images, verify_images

    work = {"build": build_images, "list": list_images, "verify": verify_images}[args.action]
    results = work(args.site, args.image, lambda text: None if args.json else print(text, flush=True))
    if args.json:
        print_json([{"image": result.name, "digest": result.digest, "state": result.state, "detail": result.detail} for result in results])
    else:
        for result in results:
            print(f"{result.name}  {result.state}  {result.digest or '–'}" + (f"  {result.detail}" if result.detail else ""))
        if not results:
            print("no image is declared" if args.action == "build" else "no image is built: metalwright image build SITE")
    return 1 if any(result.state == "altered" for result in results) else 0
