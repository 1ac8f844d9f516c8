/** The server of a node's metrics: what it answers, where it listens, and how it ends. */
import { expect, test } from 'vitest'
import { openMetricsServer } from '../../src/telemetry/metrics-server.ts'

test('a node answers GET /metrics on the loopback address, and nothing else (METRICS-SERVER-1)', async () => {
  let isBroken = false
  const server = await openMetricsServer({ port: 0 }, async () => {
    if (isBroken) throw new Error('the page cannot be made')
    return 'troupe_up 1\n'
  })
  try {
    expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/metrics$/)
    const page = await fetch(`${server.url}?format=text`)
    expect([page.status, await page.text()]).toEqual([200, 'troupe_up 1\n'])
    expect(page.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
    const statuses = [fetch(server.url, { method: 'POST' }), fetch(new URL('/', server.url))]
    expect((await Promise.all(statuses)).map(({ status }) => status)).toEqual([405, 404])
    isBroken = true
    const broken = await fetch(server.url)
    expect([broken.status, await broken.text()]).toEqual([500, 'Error: the page cannot be made\n'])
  } finally {
    await server.close()
  }
})

test('a port of metrics that another program has is refused with what to do', async () => {
  const server = await openMetricsServer({ port: 0 }, async () => '')
  const port = Number(new URL(server.url).port)
  await expect(openMetricsServer({ port }, async () => '')).rejects.toThrow(
    `metrics cannot be served at 127.0.0.1:${port}: another program listens there. Choose another port.`,
  )
  await server.close()
})

test('metrics keep no process alive, and end while somebody waits for the page', async () => {
  const servers = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPServerWrap').length
  const before = servers()
  const asked = Promise.withResolvers<void>()
  const server = await openMetricsServer({ port: 0 }, () => {
    asked.resolve()
    return new Promise(() => {})
  })
  // A server of another test may have ended meanwhile.
  expect(servers()).toBeLessThanOrEqual(before)
  const waiting = fetch(server.url).catch(({ message }: Error) => message)
  await asked.promise
  await server.close()
  expect(await waiting).toBe('fetch failed')
})
