/**
 * How long a test waits at most for what must come: a condition, a result, an event. Most of it comes within milliseconds, but a machine with ten busy
 * programs for each core holds it up for a minute. It is shorter than the time of a test (vitest.config.ts), so a test that waits for nothing says for what.
 */
export const patienceMs = 120_000
