/** Duty: how long a tool may work on a folder: a large one on a slow disk takes its time, and a hung one is not waited for forever. */
export const diskMsMax = 6 * 3_600_000
