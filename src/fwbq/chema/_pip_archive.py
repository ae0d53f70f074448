"""Download one source archive through pip's own configuration, without building it.

Run as a program: ``python _pip_archive.py NAME VERSION FILE``. ``pip download`` cannot be used: it runs the archive's
build to learn its metadata. This asks pip where the archive is and fetches it with pip's session, so that indexes,
mirrors, proxies, certificates and find-links are those that the user configured. It uses pip's internals and therefore
runs apart, as a program: whatever pip changes can only make this program fail, with a message.
"""

import sys
from typing import Any


def main(name: str, version: str, target: str, most_bytes: int = 50_000_000) -> None:
    """Write the source archive of this version to the file `target`."""
    from pip._internal.commands import create_command

    command: Any = create_command("download")
    with command.main_context():
        options, _ = command.parse_args(["--no-deps", "--no-binary", ":all:", f"{name}=={version}"])
        session = command.get_default_session(options)
        finder = command._build_package_finder(options=options, session=session)
        links = [
            candidate.link
            for candidate in finder.find_all_candidates(name)
            if str(candidate.version) == version and candidate.link.filename.endswith(".tar.gz")
        ]
        if not links:
            sys.exit(f"no package index that pip is configured for offers {name} {version} as a source archive")
        response = session.get(links[0].url_without_fragment, headers={"Accept-Encoding": "identity"}, stream=True)
        response.raise_for_status()
        size = 0
        with open(target, "wb") as file:
            for chunk in response.iter_content(1 << 16):
                size += len(chunk)
                if size > most_bytes:
                    sys.exit(f"the archive is larger than {most_bytes} bytes")
                file.write(chunk)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3])
