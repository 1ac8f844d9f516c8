/** Requests of the page that outlive it: a browser takes 64 KiB of bodies for all of them together, and refuses the next one. */
import { afterAll, expect, test, vi } from 'vitest'

const limit = 65_536

afterAll(() => vi.unstubAllGlobals())

test('changes with long reasons, made at once, are never more than a browser sends for a page that is left', async () => {
  vi.stubGlobal('sessionStorage', { getItem: () => null })
  vi.stubGlobal('document', { baseURI: 'http://127.0.0.1/' })
  const asked: { readonly keepalive: boolean; readonly bytes: number; readonly answer: () => void }[] = []
  vi.stubGlobal('fetch', (_url: string, { body, keepalive }: { body: string; keepalive: boolean }) => {
    const { promise, resolve } = Promise.withResolvers<Response>()
    asked.push({ keepalive, bytes: Buffer.byteLength(body), answer: () => resolve(Response.json({})) })
    return promise
  })
  const { change } = await import('../../src/page/api/http.ts')
  const changes = Array.from({ length: 40 }, () =>
    change('POST', 'approvals/x', { body: { reason: 'é'.repeat(4_000) } }),
  )
  const kept = asked.filter(({ keepalive }) => keepalive)
  expect(kept.length).toBeGreaterThan(0)
  expect(kept.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThanOrEqual(limit)
  for (const { answer } of asked) answer()
  await Promise.all(changes)
  const last = change('POST', 'approvals/x', { body: {} })
  expect(asked.at(-1)?.keepalive).toBe(true)
  asked.at(-1)?.answer()
  await last
})
