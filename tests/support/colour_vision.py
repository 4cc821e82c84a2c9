"""How different two colours look, also to people who see fewer of them."""

import numpy as np

#: What colours of linear RGB turn into (Machado, Oliveira and Fernandes, "A Physiologically-based
#: Model for Simulation of Color Vision Deficiency", IEEE TVCG 15(6), 2009; severity 1).
VISION = {
    "usual": np.eye(3),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
}

#: Linear sRGB to CIE XYZ, white D65 (IEC 61966-2-1).
XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)


def linear(colour):
    """Return the linear RGB of "#rrggbb"."""
    encoded = np.array([int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)])
    return np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)


def contrast(one, other):
    """Return the contrast ratio of WCAG 2."""
    low, high = sorted(float(linear(colour) @ XYZ[1]) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def lab(colour, vision="usual"):
    """Return CIE L*a*b* of a colour as someone with this vision sees it."""
    seen = np.clip(VISION[vision] @ linear(colour), 0, 1)
    relative = XYZ @ seen / XYZ.sum(axis=1)
    small = relative / (3 * (6 / 29) ** 2) + 4 / 29
    x, y, z = np.where(relative > (6 / 29) ** 3, np.cbrt(relative), small)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def delta_e(one, other):
    """Return CIEDE2000 of two colours in L*a*b* (Sharma, Wu and Dalal, Color Res. Appl., 2005)."""
    (light_1, a_1, b_1), (light_2, a_2, b_2) = one, other
    stretch = 1 + 0.5 * (1 - _saturated((np.hypot(a_1, b_1) + np.hypot(a_2, b_2)) / 2))
    chroma_1, chroma_2 = np.hypot(stretch * a_1, b_1), np.hypot(stretch * a_2, b_2)
    hue_1 = np.degrees(np.arctan2(b_1, stretch * a_1)) % 360
    hue_2 = np.degrees(np.arctan2(b_2, stretch * a_2)) % 360
    turn = (hue_2 - hue_1 + 180) % 360 - 180 if chroma_1 * chroma_2 else 0.0
    hue = (hue_1 + turn / 2) % 360
    light, chroma = (light_1 + light_2) / 2, (chroma_1 + chroma_2) / 2
    bend = (
        1
        - 0.17 * _cos(hue - 30)
        + 0.24 * _cos(2 * hue)
        + 0.32 * _cos(3 * hue + 6)
        - 0.20 * _cos(4 * hue - 63)
    )
    by_light = 1 + 0.015 * (light - 50) ** 2 / np.sqrt(20 + (light - 50) ** 2)
    of_light = (light_2 - light_1) / by_light
    of_chroma = (chroma_2 - chroma_1) / (1 + 0.045 * chroma)
    of_hue = 2 * np.sqrt(chroma_1 * chroma_2) * np.sin(np.radians(turn / 2))
    of_hue /= 1 + 0.015 * chroma * bend
    blue = np.sin(np.radians(60 * np.exp(-(((hue - 275) / 25) ** 2))))
    mixed = -2 * _saturated(chroma) * blue * of_chroma * of_hue
    return float(np.sqrt(of_light**2 + of_chroma**2 + of_hue**2 + mixed))


def _saturated(chroma):
    return np.sqrt(chroma**7 / (chroma**7 + 25.0**7))


def _cos(degrees):
    return np.cos(np.radians(degrees))
