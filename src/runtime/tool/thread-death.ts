/** The thread of a tool ended before the tool did: nobody knows how far it came. */
export class ThreadDeath extends Error {}
