/** Duty: the time limit of tools that work on a folder. A large folder on a slow disk takes long, but a hung disk must not block for ever. */
export const diskMsMax = 6 * 3_600_000
