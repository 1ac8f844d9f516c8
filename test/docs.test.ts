/** The pages of docs/ say what the sources say. */
import { describe, expect, test } from 'vitest'
import { docsProblems } from '../scripts/docs.ts'

describe('the documentation', () => {
  test('agrees with the sources', async () => {
    expect(await docsProblems()).toEqual([])
    // It asks each command for its help, in a process of its own.
  }, 400_000)
})
