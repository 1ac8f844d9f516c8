/** The page in a browser, on the real API and a real node: every screen, by keyboard, safe against what it shows, and honest about what is stale. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, type TestContext, test } from 'vitest'
import { buildPage } from '../../scripts/page.ts'
import { startApi } from '../../src/api/api.ts'
import { TestApi } from '../api/support/test-api.ts'
import { waitUntil } from '../support/wait-until.ts'
import { startBrowser } from './support/browser.ts'
import { hostile, kinds } from './support/kinds.ts'
import { sessionFileOf } from './support/session-file.ts'

const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const jsKbMost = 250

let folder: string
let api: TestApi
let browser: Browser | null
let context: BrowserContext
/** What no page of the tests may do: ask another host, break its policy, throw. */
const complaints: string[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'troupe-page-'))
  await buildPage(folder)
  api = await TestApi.start(kinds, { page: folder, rate: 1_000_000 })
  browser = await startBrowser()
  if (browser === null) return
  context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
  context.setDefaultTimeout(60_000)
})

afterAll(async () => {
  await browser?.close()
  await api?.[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

const inBrowser =
  (run: (page: Page) => Promise<void>) =>
  async ({ skip }: TestContext) => {
    if (browser === null) return skip('there is no chromium on the PATH, and no apt to install it')
    complaints.length = 0
    const page = await context.newPage()
    page.on('pageerror', ({ message }) => complaints.push(message))
    page.on('console', (said) => {
      if (/Content Security Policy|Refused to/.test(said.text())) complaints.push(said.text())
    })
    page.on('request', (request) => {
      const { protocol, hostname } = new URL(request.url())
      if (protocol === 'http:' && hostname === '127.0.0.1' && !/:9\//.test(request.url())) return
      if (protocol !== 'blob:') complaints.push(`asked ${request.url()}`)
    })
    await run(page)
    await page.close()
    expect(complaints).toEqual([])
  }

const create = async (kind: string, more: object = {}) => {
  const { body, status } = await api.post('/v1/sessions', { kind, input: `Please: ${hostile}`, ...more })
  expect({ status, body }).toMatchObject({ status: 202 })
  return body.sessionId as string
}

const approvals = async () => (await api.get('/v1/approvals')).body.approvals as { readonly id: string }[]

test('its code is small, and its HTML holds no script and no style', async () => {
  const assets = join(folder, 'assets')
  const scripts = (await readdir(assets)).filter((name) => name.endsWith('.js'))
  const sizes = await Promise.all(scripts.map(async (name) => gzipSync(await readFile(join(assets, name))).length))
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(jsKbMost * 1_000)
  const html = await readFile(join(folder, 'index.html'), 'utf8')
  expect(html).not.toMatch(/<style|style=|<script(?![^>]*\ssrc="\.\/)|(?:src|href)="(?!\.\/)/)
})

test(
  'what is stored stays text on every screen, wide and narrow, and nothing keeps readers out',
  inBrowser(async (page) => {
    const [session] = [
      await create('parent', { name: `two ${hostile}`.slice(0, 40) }),
      await create('asking', { keepOpen: true }),
    ]
    await waitUntil('somebody is asked', async () => (await api.get('/v1/asks')).body.asks.length >= 2)
    const screens = ['', 'sessions', 'approvals', 'dead', 'fleet', 'costs', 'kinds', 'audit']
    const tabs = ['conversation', 'timeline', 'mailbox', 'state', 'calls', 'raw']
    const { workers } = (await api.get(`/v1/sessions/${session}`)).body
    const clerk = workers.find(({ kind }: { readonly kind: string }) => kind === 'clerk')
    const places = [...screens, ...tabs.map((tab) => `sessions/${session}?worker=${clerk.id}&tab=${tab}`)]
    for (const width of [1280, 400]) {
      await page.setViewportSize({ width, height: 800 })
      await page.emulateMedia({ colorScheme: width === 400 ? 'dark' : 'light' })
      for (const place of places) {
        await page.goto(`${api.url('/')}#/${place}`)
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
    const text = await page.evaluate(() => document.body.textContent)
    expect(text).toContain('<img src=')
    await page.goto(`${api.url('/')}#/sessions/${session}?worker=${clerk.id}`)
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
  'a decision made by keyboard can be taken back, and is sent once when the page goes away',
  inBrowser(async (page) => {
    const session = await create('clerk')
    await waitUntil(
      'the call waits',
      async () => (await api.get(`/v1/approvals?session=${session}`)).body.approvals.length === 1,
    )
    const before = (await approvals()).length
    await page.goto(api.url('/#/sessions'))
    await page.getByRole('row').nth(1).waitFor()
    const filter = page.getByRole('button', { name: 'failed' })
    await filter.press('Enter')
    expect(await filter.getAttribute('aria-pressed')).toBe('true')
    await page.keyboard.press('g')
    await page.keyboard.press('a')
    await page.getByRole('article').first().waitFor()
    for (let at = 1; at < before; at++) await page.keyboard.press('j')
    const chosen = page.locator('article[data-chosen=true]')
    await page.keyboard.press('a')
    await chosen.getByText('Decided.').waitFor()
    await page.keyboard.press('u')
    await chosen.getByRole('button', { name: 'Approve' }).first().waitFor()
    expect((await approvals()).length).toBe(before)
    await page.keyboard.press('a')
    await chosen.getByText('Decided.').waitFor()
    await page.goto('about:blank')
    const result = await api.get(`/v1/sessions/${session}/result?wait=60`)
    expect(result.body.status).toBe('completed')
  }),
)

test(
  'a decision that was sent cannot be taken back',
  inBrowser(async (page) => {
    const session = await create('clerk')
    await page.goto(api.url(`/#/sessions/${session}`))
    await page.getByRole('button', { name: 'Approve' }).first().click()
    const answer = Promise.withResolvers<void>()
    await page.route('**/v1/approvals/*', async (route) => {
      await answer.promise
      await route.continue()
    })
    const sent = page.waitForRequest(/v1\/approvals\/./)
    await page.evaluate(() => dispatchEvent(new Event('pagehide')))
    await sent
    await page.keyboard.press('u')
    expect(await page.getByText('Decided.').isVisible()).toBe(true)
    answer.resolve()
    await page.getByText('completed').first().waitFor()
  }),
)

test(
  'a session is begun, followed, steered and cancelled from the page',
  inBrowser(async (page) => {
    await page.goto(api.url('/#/kinds?kind=asking'))
    await page.getByLabel('Input').fill('count')
    await page.getByRole('button', { name: 'Start' }).click()
    await page.getByLabel('Answer').fill('4')
    await page.getByRole('button', { name: 'Answer' }).click()
    await page.getByText('completed: 4').waitFor()
    await page.getByRole('button', { name: 'Fork' }).waitFor()

    await page.goto(api.url('/#/kinds?kind=ordering'))
    await page.getByLabel('what').fill('tea')
    await page.getByLabel('often').check()
    await page.getByLabel('cups').fill('{"green":')
    await page.getByRole('button', { name: 'Start' }).click()
    expect(await page.locator(':invalid').count()).toBeGreaterThan(0)
    await page.getByLabel('cups').fill('{"green":2}')
    await page.getByRole('button', { name: 'Start' }).click()
    await page.getByText('completed: {"what":"tea","often":true,"cups":{"green":2}}').waitFor()

    const open = await create('asking', { keepOpen: true })
    await page.goto(api.url(`/#/sessions/${open}`))
    // Longer than what a browser sends for a page that has gone.
    await page.getByLabel('Message').fill('茶'.repeat(25_000))
    await page.getByLabel('Message').press('Enter')
    await page.getByText('Sent').waitFor()
    await page.keyboard.press('Tab')
    await page.getByRole('tab', { name: 'State' }).focus()
    await page.keyboard.press('X')
    await page.getByLabel('Why?').fill('enough')
    await page.getByRole('button', { name: 'Cancel the session' }).click()
    await page.getByText('Cancelled: enough').waitFor()
  }),
)

test(
  'it says since when it is stale, and goes on by itself',
  inBrowser(async (page) => {
    const { redisUrl, namespace } = api.troupe
    const settings = { redisUrl, namespace, page: folder, rate: 1_000_000 }
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
    expect(await page.getByRole('button', { name: /stale since/ }).textContent()).toMatch(/^stale since \d/)
    const second = await startApi({ ...settings, port: first.port })
    await page.getByRole('button', { name: 'live' }).waitFor()
    await page.goto('about:blank')
    await second.close()
  }),
)

test(
  'a session of ten thousand workers is read from a file, and only rows in sight are drawn',
  inBrowser(async (page) => {
    await page.goto(api.url('/#/sessions'))
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
  'it works under any path',
  inBrowser(async (page) => {
    const asked: string[] = []
    const pass = async (url: string, response: ServerResponse) => {
      // A connection that ends with the page is no failure.
      const reply = await fetch(api.url(url.replace(/^\/tools\/troupe/, ''))).catch(() => null)
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
