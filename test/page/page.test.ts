/** The page in a browser, on the real API and a real node: every screen, by keyboard, safe against what it shows, and honest about what is stale. */
import { readdir, readFile } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { startApi } from '../../src/api/api.ts'
import { partitionKeys } from '../../src/store/keys.ts'
import { waitUntil } from '../support/wait-until.ts'
import { hostile } from './support/kinds.ts'
import { PageRig } from './support/page-rig.ts'
import { sessionFileOf } from './support/session-file.ts'

const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const jsKbMost = 250

const rig = new PageRig()
const inBrowser = rig.inBrowser.bind(rig)
const create = rig.create.bind(rig)
const approvals = rig.approvals.bind(rig)

test('its code is small, and its HTML holds no script and no style', async () => {
  const assets = join(rig.folder, 'assets')
  const scripts = (await readdir(assets)).filter((name) => name.endsWith('.js'))
  const sizes = await Promise.all(scripts.map(async (name) => gzipSync(await readFile(join(assets, name))).length))
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(jsKbMost * 1_000)
  const html = await readFile(join(rig.folder, 'index.html'), 'utf8')
  expect(html).not.toMatch(/<style|style=|<script(?![^>]*\ssrc="\.\/)|(?:src|href)="(?!\.\/)/)
})

test(
  'what is stored stays text on every screen, wide and narrow, and nothing keeps readers out',
  inBrowser(async (page) => {
    const [session] = [
      await create('parent', { name: `two ${hostile}`.slice(0, 40) }),
      await create('asking', { keepOpen: true }),
    ]
    await waitUntil('somebody is asked', async () => (await rig.api.get('/v1/asks')).body.asks.length >= 2)
    const screens = ['', 'sessions', 'approvals', 'dead', 'fleet', 'costs', 'kinds', 'audit']
    const tabs = ['conversation', 'timeline', 'mailbox', 'state', 'calls', 'raw']
    const { workers } = (await rig.api.get(`/v1/sessions/${session}`)).body
    const clerk = workers.find(({ kind }: { readonly kind: string }) => kind === 'clerk')
    const places = [...screens, ...tabs.map((tab) => `sessions/${session}?worker=${clerk.id}&tab=${tab}`)]
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
  'a decision made by keyboard can be taken back, and is sent once when the page goes away',
  inBrowser(async (page) => {
    const session = await create('clerk')
    await waitUntil(
      'the call waits',
      async () => (await rig.api.get(`/v1/approvals?session=${session}`)).body.approvals.length === 1,
    )
    const before = (await approvals()).length
    await page.goto(rig.url('sessions'))
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
    const result = await rig.api.get(`/v1/sessions/${session}/result?wait=60`)
    expect(result.body.status).toBe('completed')
  }),
)

test(
  'a decision that was sent cannot be taken back',
  inBrowser(async (page) => {
    const session = await create('clerk')
    await page.goto(rig.url(`sessions/${session}`))
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
  'several sessions, calls and letters are picked by keyboard and handled at once',
  inBrowser(async (page) => {
    const opened = await Promise.all([1, 2, 3].map(() => create('asking', { keepOpen: true, name: 'herd' })))
    await page.goto(rig.url('sessions?name=herd'))
    await page.getByLabel('Pick herd').nth(2).waitFor()
    const paused = async () =>
      (await Promise.all(opened.map((id) => rig.api.get(`/v1/sessions/${id}`)))).filter(
        ({ body }) => body.session.paused !== null,
      ).length
    for (const key of [' ', 'j', ' ']) await page.keyboard.press(key)
    await page.getByRole('button', { name: 'Pause 2' }).click()
    await page.getByText('2 sessions are paused.').waitFor()
    expect(await paused()).toBe(2)
    await page.keyboard.press('u')
    await page.getByText('2 sessions go on.').waitFor()
    expect(await paused()).toBe(0)
    await page.keyboard.press('*')
    await page.getByRole('button', { name: 'Cancel 3' }).click()
    await page.getByLabel('Why?').fill('enough of these')
    await page.getByRole('button', { name: 'Cancel 3 sessions' }).click()
    await page.getByText('3 sessions were cancelled.').waitFor()
    expect((await rig.api.get(`/v1/sessions/${opened[2]}`)).body.session.cancelReason).toBe('enough of these')

    const asking = await Promise.all([1, 2].map(() => create('clerk')))
    const open = async () => (await approvals()).filter(({ sessionId }) => asking.includes(sessionId)).length
    await waitUntil('both are asked about', async () => (await open()) === 2)
    const all = await approvals()
    await page.goto(rig.url('approvals'))
    // Questions are articles too, and may be there before the calls are.
    const cards = page.getByRole('article', { name: /^Approval of/ })
    await cards.nth(all.length - 1).waitFor()
    for (const { sessionId } of all) {
      if (asking.includes(sessionId)) await page.keyboard.press(' ')
      await page.keyboard.press('j')
    }
    const approve = async () => {
      await page.getByRole('button', { name: 'Approve 2' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Approve 2' }).click()
      await page.getByText('Approved: 2 calls.').waitFor()
    }
    await approve()
    await page.keyboard.press('u')
    await page.getByText('Decided.').waitFor({ state: 'detached' })
    expect(await open()).toBe(2)
    for (const { sessionId } of all.toReversed()) {
      if (asking.includes(sessionId)) await page.keyboard.press(' ')
      await page.keyboard.press('k')
    }
    await approve()
    await page.evaluate(() => dispatchEvent(new Event('pagehide')))
    await waitUntil('both are decided', async () => (await open()) === 0)

    const { redis, tag } = rig.api.troupe
    const { workers } = (await rig.api.get(`/v1/sessions/${asking[0]}`)).body
    for (const mail of ['i\t-\t1', 'i\t-\t2'])
      await redis.xadd(partitionKeys(tag).dead, '*', 'worker', workers[0].id, 'mail', mail)
    await page.goto(rig.url('dead'))
    await page.getByLabel('Pick all 2').check()
    await page.getByRole('button', { name: 'Dismiss 2' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Dismiss' }).click()
    await page.getByText('2 letters were dismissed.').waitFor()
  }),
)

test(
  'an edit shows what it changes before it is sent, and while it can be taken back',
  inBrowser(async (page) => {
    const session = await create('clerk')
    await page.goto(rig.url(`sessions/${session}`))
    await page.getByRole('button', { name: 'Edit' }).click()
    await page.getByLabel('path').fill('/pages/tea')
    await page.getByLabel('draft').uncheck()
    const changes = page.getByRole('region', { name: 'What you change' })
    expect(await changes.locator('ins').allTextContents()).toEqual(expect.arrayContaining(['false']))
    expect(await changes.locator('del').last().textContent()).toBe('true')
    await page.getByRole('button', { name: 'Approve with these arguments' }).click()
    await page.getByText('Decided.').waitFor()
    expect(await changes.locator('ins').last().textContent()).toBe('false')
    await page.goto('about:blank')
    expect(await rig.endOf(session)).toBe('completed')
    const { rootId } = (await rig.api.get(`/v1/sessions/${session}`)).body.session
    const { entries } = (await rig.api.get(`/v1/workers/${rootId}/history`)).body
    expect(JSON.stringify(entries)).toContain('published /pages/tea')
  }),
)

test(
  'from the first screen one finds why sessions stand still, and mends it there',
  inBrowser(async (page) => {
    const [ghost, budget, nested] = [
      await create('ghost', { name: 'nobody home' }),
      await create('clerk', { name: 'spent', limits: { modelCalls: 1 } }),
      await create('parent', { name: 'deep' }),
    ]
    const asks = async (session: string) => (await approvals()).find(({ sessionId }) => sessionId === session)
    const asked = await waitUntil('two calls wait', async () => (await asks(nested)) && asks(budget))
    await rig.api.post(`/v1/approvals/${asked?.id}`, { decision: 'approve', hash: asked?.hash })
    const needs = page.getByRole('region', { name: 'Needs you' })

    await page.goto(rig.url('sessions?name=nobody'))
    await page.getByRole('row', { name: /needs you nobody home.*a node that hosts ghost/ }).waitFor()
    await page.goto(rig.url(''))
    await needs.getByText('No live node hosts the kind ghost').waitFor()
    await needs.getByRole('link', { name: 'Show the worker' }).first().click()
    await page.getByText('waits for a node that hosts ghost').waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Cancel the session' }).click()
    await waitUntil(
      'it is cancelled',
      async () => (await rig.api.get(`/v1/sessions/${ghost}`)).body.session.state === 'cancelled',
    )

    await page.goto(rig.url(''))
    await needs.getByRole('link', { name: /^spent \(clerk\) waits for a higher limit/ }).click()
    await page.getByRole('button', { name: 'Retry' }).click()
    await page.getByRole('spinbutton', { name: 'Model calls' }).fill('5')
    await page.getByRole('dialog').getByRole('button', { name: 'Retry' }).click()
    await page.getByText('It goes on at the step that failed.').waitFor()
    expect(await rig.endOf(budget)).toBe('completed')

    await page.goto(rig.url(''))
    await needs
      .getByText(/^north/)
      .last()
      .waitFor()
    const rows = needs.getByRole('listitem').filter({ hasText: /north/ })
    await rows.last().getByRole('link').click()
    const chosen = page.locator('article[data-chosen=true]')
    await chosen.getByRole('link', { name: /north/ }).waitFor()
    await chosen.getByRole('button', { name: 'Approve' }).first().click()
    await page.goto('about:blank')
    expect(await rig.endOf(nested)).toBe('completed')
  }),
)

test(
  'a session is begun, followed, steered and cancelled from the page',
  inBrowser(async (page) => {
    await page.goto(rig.url('kinds?kind=asking'))
    await page.getByLabel('Input').fill('count')
    await page.getByRole('button', { name: 'Start' }).click()
    await page.getByLabel('Answer').fill('4')
    await page.getByRole('button', { name: 'Answer' }).click()
    await page.getByText('completed: 4').waitFor()
    await page.getByRole('button', { name: 'Fork' }).waitFor()

    await page.goto(rig.url('kinds?kind=ordering'))
    await page.getByLabel('what').fill('tea')
    await page.getByLabel('often').check()
    await page.getByLabel('cups').fill('{"green":')
    await page.getByRole('button', { name: 'Start' }).click()
    expect(await page.locator(':invalid').count()).toBeGreaterThan(0)
    await page.getByLabel('cups').fill('{"green":2}')
    await page.getByRole('button', { name: 'Start' }).click()
    await page.getByText('completed: {"what":"tea","often":true,"cups":{"green":2}}').waitFor()

    const open = await create('asking', { keepOpen: true })
    await page.goto(rig.url(`sessions/${open}`))
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
  'it works under any path',
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
