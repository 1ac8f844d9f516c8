/** The page in a browser, on the real API: small, under any path, honest about what is stale. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildPage } from '../../scripts/page.ts'
import { startApi } from '../../src/api/api.ts'
import { TestApi } from '../api/support/test-api.ts'
import { startBrowser } from './support/browser.ts'
import { sessionFileOf } from './support/session-file.ts'

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
  api = await TestApi.start({}, { page: folder, rate: 1_000_000 })
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

const inBrowser = (name: string, run: (page: Page) => Promise<void>) =>
  test(name, async ({ skip }) => {
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
  })

test('its code is small, and its HTML holds no script and no style', async () => {
  const assets = join(folder, 'assets')
  const scripts = (await readdir(assets)).filter((name) => name.endsWith('.js'))
  const sizes = await Promise.all(scripts.map(async (name) => gzipSync(await readFile(join(assets, name))).length))
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(jsKbMost * 1_000)
  const html = await readFile(join(folder, 'index.html'), 'utf8')
  expect(html).not.toMatch(/<style|style=|<script(?![^>]*\ssrc="\.\/)|(?:src|href)="(?!\.\/)/)
})

inBrowser('it says since when it is stale, and goes on by itself', async (page) => {
  const { redisUrl, namespace } = api.troupe
  const settings = { redisUrl, namespace, page: folder, rate: 1_000_000 }
  const first = await startApi({ ...settings, port: 0 })
  await page.goto(`${first.url}/#/sessions`)
  await page.getByRole('button', { name: 'live' }).waitFor()
  await first.close()
  await page.getByRole('button', { name: /stale since/ }).waitFor()
  const second = await startApi({ ...settings, port: first.port })
  await page.getByRole('button', { name: 'live' }).waitFor()
  await page.goto('about:blank')
  await second.close()
})

inBrowser('a session of ten thousand workers is read from a file, and only rows in sight are drawn', async (page) => {
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
})

inBrowser('it works under any path', async (page) => {
  const asked: string[] = []
  const server = createServer(async ({ url = '' }, response) => {
    asked.push(url)
    // A connection that ends with the page is no failure.
    const reply = await fetch(api.url(url.replace(/^\/tools\/troupe/, ''))).catch(() => null)
    response.writeHead(reply?.status ?? 502, { 'content-type': reply?.headers.get('content-type') ?? '' })
    response.end(Buffer.from((await reply?.arrayBuffer().catch(() => null)) ?? new ArrayBuffer(0)))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { readonly port: number }
  await page.goto(`http://127.0.0.1:${port}/tools/troupe/#/fleet`)
  await page.getByText('What doctor finds').waitFor()
  await page.goto('about:blank')
  server.closeAllConnections()
  server.close()
  expect(asked.filter((url) => !url.startsWith('/tools/troupe/') && url !== '/favicon.ico')).toEqual([])
})
