"""First program: shelves of pieces in the order of their height."""


def solve(width: int, height: int, pieces: list[list[int]]) -> dict[str, list[list[int]]]:
    """Cut pieces of a high total value from one sheet by guillotine cuts.

    Args:
        width: width of the sheet.
        height: height of the sheet.
        pieces: for each type of piece [width, height, value, demand].

    Returns:
        {"placements": [piece, x, y] for each piece that is cut}
    """
    order = sorted(range(len(pieces)), key=lambda piece: (-pieces[piece][1], -pieces[piece][0]))
    left = [demand for _, _, _, demand in pieces]
    placements = []
    bottom = 0
    while True:
        # A shelf is as high as its first piece, the highest that is left and fits.
        x = shelf = 0
        for piece in order:
            wide, high = pieces[piece][:2]
            while left[piece] and x + wide <= width and bottom + high <= height:
                shelf = shelf or high
                placements.append([piece, x, bottom])
                left[piece] -= 1
                x += wide
        if not shelf:
            return {"placements": placements}
        bottom += shelf
