/** The page in a browser, on the real API and a real node: every screen, safe against what it shows, and honest about what is stale. */
import { readdir, readFile } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { startApi } from '../../src/api/api.ts'
import { waitUntil } from '../support/time/wait-until.ts'
import { hostile } from './support/kinds.ts'
import { PageRig } from './support/page-rig.ts'
import { sessionFileOf } from './support/session-file.ts'

const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const jsKbMost = 250

const rig = new PageRig()
const inBrowser = rig.inBrowser.bind(rig)
const create = rig.create.bind(rig)

test('the page has little code, and its HTML holds no script and no style', async () => {
  const assets = join(rig.folder, 'assets')
  const scripts = (await readdir(assets)).filter((name) => name.endsWith('.js'))
  const sizes = await Promise.all(scripts.map(async (name) => gzipSync(await readFile(join(assets, name))).length))
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(jsKbMost * 1_000)
  const html = await readFile(join(rig.folder, 'index.html'), 'utf8')
  expect(html).not.toMatch(/<style|style=|<script(?![^>]*\ssrc="\.\/)|(?:src|href)="(?!\.\/)/)
})

test(
  'every screen, wide and narrow, shows stored texts as texts and is accessible',
  inBrowser(async (page) => {
    const [session] = [
      await create('parent', { name: `two ${hostile}`.slice(0, 40) }),
      await create('asking', { keepOpen: true }),
    ]
    await waitUntil('somebody is asked', async () => (await rig.api.get('/v1/asks')).body.asks.length >= 2)
    const name = `two ${hostile}`.slice(0, 40)
    const { body: endpoint } = await rig.api.post('/v1/webhooks', {
      url: `http://127.0.0.1:9/?${hostile}`,
      names: [name],
    })
    await rig.api.post(`/v1/webhooks/${endpoint.id}/test`)
    const screens = ['', 'sessions', 'approvals', 'dead', 'fleet', 'costs', 'kinds', 'webhooks', 'audit']
    const tabs = ['conversation', 'timeline', 'mailbox', 'state', 'calls', 'raw']
    const { workers } = (await rig.api.get(`/v1/sessions/${session}`)).body
    const clerk = workers.find(({ kind }: { readonly kind: string }) => kind === 'clerk')
    const places = [
      ...screens,
      `webhooks/${endpoint.id}`,
      ...tabs.map((tab) => `sessions/${session}?worker=${clerk.id}&tab=${tab}`),
    ]
    for (const width of [1280, 400]) {
      await page.setViewportSize({ width, height: 800 })
      await page.emulateMedia({ colorScheme: width === 400 ? 'dark' : 'light' })
      for (const place of places) {
        await page.goto(`${rig.api.url('/')}#/${place}`)
        await page.waitForFunction(() => !/Reading /.test(document.body.textContent ?? ''))
        expect(
          await page.evaluate(() =>
            Math.max(...['html', 'main'].map((part) => document.querySelector(part)?.scrollWidth ?? 0)),
          ),
          `${place} at ${width}`,
        ).toBeLessThanOrEqual(width)
        expect(
          await page.evaluate(() => [
            document.querySelectorAll('main img, main script, main iframe').length,
            'hit' in window,
          ]),
        ).toEqual([0, false])
        expect(await seriousFindings(page), `${place} at ${width}`).toEqual([])
      }
    }
    // The tables of the page are wider than this, and the keyboard must be able to scroll them.
    await page.setViewportSize({ width: 200, height: 800 })
    await page.goto(rig.url('fleet'))
    await page.getByRole('region', { name: 'Pools' }).first().waitFor()
    expect(await seriousFindings(page)).toEqual([])
    await page.goto(rig.url('sessions'))
    await page.getByRole('row').nth(1).waitFor()
    const text = await page.evaluate(() => document.body.textContent)
    expect(text).toContain('<img src=')
    await page.goto(`${rig.api.url('/')}#/sessions/${session}?worker=${clerk.id}`)
    await page.getByText('\\u{200b}').first().waitFor({ state: 'attached' })
  }),
)

async function seriousFindings(page: Page): Promise<string[]> {
  // The policy of the page forbids to add a script element; evaluate runs beside it.
  await page.evaluate(axe)
  return page.evaluate(async () => {
    // biome-ignore lint/suspicious/noExplicitAny: axe has put itself there
    const { violations } = await (globalThis as any).axe.run()
    return (
      violations
        // biome-ignore lint/suspicious/noExplicitAny: as above
        .filter(({ impact }: any) => impact === 'serious' || impact === 'critical')
        // biome-ignore lint/suspicious/noExplicitAny: as above
        .map(({ id, nodes }: any) => `${id}: ${nodes[0].html}`)
    )
  })
}

test(
  'a list goes on where a page of it has none, costs by model have no rows of those by kind, and a session that is gone is said to be',
  inBrowser(async (page) => {
    await create('resting', { name: 'far back' })
    const nextCursor = await create('resting')
    await page.route(/v1\/sessions\?(?!.*cursor)/, (route) =>
      route.fulfill({ json: { sessions: [], nextCursor, away: [3] } }),
    )
    await page.goto(rig.url('sessions?name=far'))
    await page.getByText('None of the newest sessions fits these filters.').waitFor()
    await page.getByText('Some are missing: the list lacks what is in partition 3, which is away.').waitFor()
    await page.getByRole('button', { name: 'Load earlier sessions' }).click()
    await page.getByRole('link', { name: 'far back' }).waitFor()

    await page.route('**/v1/approvals?*', (route) =>
      route.fulfill({ json: { approvals: [], nextCursor: null, away: [5] } }),
    )
    await page.route('**/v1/dead?*', (route) => route.fulfill({ json: { letters: [], away: [5] } }))
    for (const screen of ['approvals', 'dead']) {
      await page.goto(rig.url(screen))
      await page.getByText('Some are missing: the list lacks what is in partition 5, which is away.').waitFor()
    }

    const row = { modelCalls: 1, inputTokens: 1, outputTokens: 1, costMicroUsd: 1, unpricedModelCalls: 0 }
    const usage: Record<string, object[]> = {
      kind: ['one', 'two', 'three'].map((kind) => ({ ...row, kind })),
      model: [{ ...row, model: 'm' }],
      hour: [],
    }
    await page.route('**/v1/usage?by=*', (route) => {
      const by = new URL(route.request().url()).searchParams.get('by') ?? ''
      return route.fulfill({ json: { usage: usage[by] } })
    })
    await page.goto(rig.url('costs'))
    await page.getByRole('cell', { name: 'three' }).waitFor()
    await page.getByRole('button', { name: 'by model' }).click()
    await page.getByRole('cell', { name: 'm', exact: true }).waitFor()
    expect(await page.locator('tbody tr').count()).toBe(1)

    await page.goto(rig.url(`sessions/${nextCursor}`))
    await page.getByRole('button', { name: 'Fork' }).waitFor()
    const gone = { code: 'session_not_found', detail: 'it may have been pruned.' }
    await page.route(`**/v1/sessions/${nextCursor}`, (route) => route.fulfill({ status: 404, json: gone }))
    await page.getByRole('alert').getByText('it may have been pruned.').waitFor()
    expect(await page.getByRole('button', { name: 'Fork' }).count()).toBe(1)
  }),
)

test(
  'the page says since when it is stale, and goes on by itself',
  inBrowser(async (page) => {
    const { redisUrl, namespace } = rig.api.troupe
    const settings = { redisUrl, namespace, page: rig.folder, rate: 1_000_000 }
    const first = await startApi({ ...settings, port: 0 })
    await page.clock.install()
    await page.goto(`${first.url}/#/sessions`)
    await page.getByRole('button', { name: 'live' }).waitFor()
    await page.route('**/v1/**', () => {})
    await page.clock.fastForward(3_000)
    await page.clock.fastForward(6_000)
    await page.getByRole('button', { name: /stale since/ }).waitFor()
    await page.unroute('**/v1/**')
    await page.reload()
    await page.getByRole('button', { name: 'live' }).waitFor()
    await first.close()
    await page.getByRole('button', { name: /^stale since \d.*The server does not answer\.$/ }).waitFor()
    expect(await page.getByRole('heading', { name: 'Sessions' }).count()).toBe(1)
    const second = await startApi({ ...settings, port: first.port })
    await page.getByRole('button', { name: 'live' }).waitFor()
    await page.goto('about:blank')
    await second.close()
  }),
)

test(
  'a stream of events that breaks while it is read is a server that does not answer',
  inBrowser(async (page) => {
    const session = await create('resting')
    const server = createServer((request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(': open\n\n', () => request.socket.end())
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as { readonly port: number }
    await page.route(/\/events\?/, (route) => route.continue({ url: `http://127.0.0.1:${port}/` }))
    await page.goto(rig.url(`sessions/${session}`))
    const why = page.locator('.live-why')
    await why.waitFor()
    expect(await why.textContent()).toBe('The server does not answer.')
    await page.goto('about:blank')
    server.closeAllConnections()
    server.close()
  }),
)

test(
  'a session of ten thousand workers is read from a file, and only rows in sight are drawn',
  inBrowser(async (page) => {
    await page.goto(rig.url('sessions'))
    await page.getByRole('heading', { name: 'Sessions' }).waitFor()
    await page.evaluate((text) => {
      const data = new DataTransfer()
      data.items.add(new File([text], 'session.jsonl'))
      dispatchEvent(new DragEvent('drop', { dataTransfer: data, cancelable: true }))
    }, sessionFileOf(10_000))
    const tree = page.getByRole('tree', { name: '10000 workers' })
    await tree.waitFor()
    await page.getByText('From the file session.jsonl').waitFor()
    expect(await tree.getByRole('treeitem').count()).toBeLessThan(100)
    await tree.focus()
    await page.keyboard.press('End')
    await page.getByRole('treeitem', { name: 'worker 9999' }).waitFor()
    await page.getByText('the last of them').waitFor()
  }),
)

test(
  'the page works under any path',
  inBrowser(async (page) => {
    const asked: string[] = []
    const pass = async (url: string, response: ServerResponse) => {
      // A connection that ends with the page is no failure.
      const reply = await fetch(rig.api.url(url.replace(/^\/tools\/troupe/, ''))).catch(() => null)
      response.writeHead(reply?.status ?? 502, { 'content-type': reply?.headers.get('content-type') ?? '' })
      response.end(Buffer.from((await reply?.arrayBuffer().catch(() => null)) ?? new ArrayBuffer(0)))
    }
    const server = createServer(({ url = '' }, response) => {
      asked.push(url)
      void pass(url, response)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as { readonly port: number }
    await page.goto(`http://127.0.0.1:${port}/tools/troupe/#/fleet`)
    await page.getByText('What doctor finds').waitFor()
    await page.goto(`http://127.0.0.1:${port}/tools/troupe/#/workers/..%2F..%2F..%2F..%2Fsecret`)
    await page.getByText('is no address of the API').waitFor()
    await page.goto('about:blank')
    server.closeAllConnections()
    server.close()
    expect(asked.filter((url) => !url.startsWith('/tools/troupe/') && url !== '/favicon.ico')).toEqual([])
  }),
)
