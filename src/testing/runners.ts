/** Duty: what `troupe/test` loads when it first runs something. It is one module: each that is loaded by itself would split what it shares with the others. */
export { crashMatrix } from './crash/matrix.ts'
export { testTroupe } from './test-troupe.ts'
export { testAgent, testHandler } from './test-worker.ts'
