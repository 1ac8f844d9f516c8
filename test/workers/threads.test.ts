import { existsSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { wholePart } from '../../workers/_survey/part.ts'
import { inThread } from '../../workers/_survey/threads.ts'
import { temporaryFolder, write } from './support/folders.ts'

const never = new AbortController().signal

describe('a job in a thread', () => {
  test('is answered, also when there are more jobs than threads', async () => {
    const folder = write(temporaryFolder(), { a: 'x\n', 'b/c': 'y\n' })
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => inThread({ kind: 'read', part: wholePart(folder, 1) }, never)),
    )
    for (const answer of answers)
      expect(answer).toMatchObject({ kind: 'found', value: { counts: { files: 2, lines: 2 } } })
  })

  test('says when the surveyed folder cannot be opened', async () => {
    const part = wholePart(`${temporaryFolder()}/none`, 1)
    expect(await inThread({ kind: 'read', part }, never)).toMatchObject({ kind: 'unopened' })
  })

  test('that throws rejects, and the thread lives on', async () => {
    const broken = { ...wholePart(temporaryFolder(), 1), except: null as unknown as [] }
    await expect(inThread({ kind: 'read', part: broken }, never)).rejects.toThrow(/null/)
    expect(await inThread({ kind: 'read', part: wholePart(temporaryFolder(), 1) }, never)).toMatchObject({
      kind: 'found',
    })
  })

  test('is rejected at once when it is aborted, under way or waiting (D2)', async () => {
    const big = existsSync('/usr/share') ? '/usr/share' : process.cwd()
    const controller = new AbortController()
    const jobs = Array.from({ length: 12 }, () =>
      inThread({ kind: 'read', part: wholePart(big, 1) }, controller.signal),
    )
    const startedAt = performance.now()
    setImmediate(() => controller.abort(new Error('enough')))
    const settled = await Promise.allSettled(jobs)
    expect(performance.now() - startedAt).toBeLessThan(500)
    for (const job of settled) expect(job).toMatchObject({ status: 'rejected', reason: { message: 'enough' } })
    // The threads are free again.
    expect(await inThread({ kind: 'read', part: wholePart(temporaryFolder(), 1) }, never)).toMatchObject({
      kind: 'found',
    })
  })
})
