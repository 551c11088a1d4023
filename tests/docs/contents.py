"""The generated page of contents: the members of the content of each type of proposal."""

from canonry.canon.judging.contents import CONTENT_SHAPES, ContentShape


def contents_page(note: str) -> str:
    """Every member of every type of content, with its other names."""
    intro = (
        f"# Contents of proposals\n\n{note}\n"
        "The `content` of a proposal takes these members and no others. The error about another\n"
        "member names the nearest of these. Write a member under one of its names.\n"
        "The resource `canonry://proposals/contents` holds the same as JSON schemas.\n"
    )
    return intro + "".join(map(type_of, CONTENT_SHAPES.values()))


def type_of(shape: ContentShape) -> str:
    rows = "".join(
        f"| `{one.name}`{' (required)' if one.required else ''} | {one.wording} | {one.means} "
        f"| {', '.join(f'`{alias}`' for alias in one.aliases)} |\n"
        for one in shape.members
    )
    note = f"{shape.note}\n\n" if shape.note else ""
    head = "| member | holds | meaning | also taken as |\n| --- | --- | --- | --- |\n"
    return f"\n## {shape.type}\n\n{note}{head}{rows}"
