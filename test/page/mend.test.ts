/** What stands still is found and mended on the page alone: sessions, nodes, endpoints. */
import { expect, test } from 'vitest'
import { startApi } from '../../src/api/api.ts'
import { entryOf } from '../../src/api/guard/tokens.ts'
import { Receiver } from '../notify/support/receiver.ts'
import { Harness } from '../support/fault/harness.ts'
import { waitUntil } from '../support/time/wait-until.ts'
import { PageRig } from './support/page-rig.ts'

const rig = new PageRig()
const inBrowser = rig.inBrowser.bind(rig)
const create = rig.create.bind(rig)
const approvals = rig.approvals.bind(rig)

test(
  'a reader of the first screen finds why sessions stand still, and mends it there',
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
    await create('resting', { name: 'by the fire' })
    await page.goto(rig.url('sessions?name=fire'))
    await page.getByRole('row', { name: /active by the fire resting 1 / }).waitFor()
    await page.goto(rig.url(''))
    await needs.getByText('No live node hosts the kind ghost').waitFor()
    await needs.getByRole('link', { name: 'Show the worker' }).first().click()
    await page.getByText('waits for a node that hosts ghost').waitFor()
    await page.getByText('No node has ever hosted this kind. These nodes are live:').waitFor()
    await page.getByText(/\(\d+\), pool default: clerk, /).waitFor()
    await page.getByRole('button', { name: 'Cancel the session' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel the session' }).click()
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
    await page.getByText('Events').click()
    await page
      .locator('.event-lines')
      .getByText(/goes on by local at its failed step/)
      .waitFor()

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
  'a session with a call of unknown outcome goes on once its reader has said what became of the call',
  inBrowser(async (page) => {
    const session = await create('payer')
    expect(await rig.endOf(session)).toBe('failed')
    await page.goto(rig.url(`sessions/${session}`))
    await page.getByRole('button', { name: 'Retry' }).first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Nobody knows whether pay (c1) took effect.').waitFor()
    const retry = dialog.getByRole('button', { name: 'Retry' })
    expect(await retry.isDisabled()).toBe(true)
    await dialog.getByLabel('It took effect: tell the model so').press(' ')
    await retry.press('Enter')
    await page.getByText('It goes on at the step that failed.').waitFor()
    expect((await rig.api.get(`/v1/sessions/${session}/result?wait=60`)).body.value.text).toContain(
      'This call took effect',
    )
  }),
)

test(
  'a browser whose clock is an hour ahead shows what happens in a session, and how long ago it was',
  inBrowser(async (page) => {
    await page.addInitScript(() => {
      const now = Date.now
      Date.now = () => now() + 3_600_000
    })
    const session = await create('asking')
    await page.goto(rig.url(`sessions/${session}`))
    await page.getByText('Events').click()
    const line = page.locator('.event-lines').getByText('asks: How many?').first()
    await line.waitFor()
    expect(await line.isVisible()).toBe(true)
    await page.goto(rig.url('approvals'))
    const age = page.getByText(/^asked .* ago/).locator('time')
    // A busy machine may need minutes.
    expect(await age.first().textContent()).toMatch(/^\d+(?:s|m(?: \d+s)?)$/)
    await page.goto('about:blank')
  }),
)

test(
  'a question among the approvals names the worker that asks',
  inBrowser(async (page) => {
    await create('asking', { name: 'Größen' })
    await page.goto(rig.url('approvals'))
    const cards = page.getByRole('article', { name: 'Question' })
    await cards.first().waitFor()
    expect(await cards.getByRole('link').allTextContents()).toContain('Größen (asking)')
    await page.goto('about:blank')
  }),
)

test(
  'a low page begins at its top, and a key brings the chosen row into sight',
  inBrowser(async (page) => {
    for (const kind of ['resting', 'resting', 'clerk', 'clerk']) await create(kind)
    const asked = await waitUntil('two calls wait', async () => (await rig.approvals()).at(1))
    await page.setViewportSize({ width: 390, height: 400 })
    const isScrolled = () => page.evaluate(() => [...document.querySelectorAll('*')].some((one) => one.scrollTop > 0))
    for (const place of ['', 'approvals']) {
      await page.goto('about:blank')
      await page.goto(rig.url(place))
      await page.locator('[data-chosen=true]').waitFor()
      expect(await isScrolled()).toBe(false)
      await page.keyboard.press('j')
      await waitUntil('the chosen one is in sight', isScrolled)
    }
    await page.goto('about:blank')
    await page.goto(rig.url(`approvals?ask=${asked.id}`))
    await waitUntil('the one that the address names is in sight', isScrolled)
    await page.goto('about:blank')
  }),
)

test(
  'a node that stands still is found, and its work is released at once',
  inBrowser(async (page) => {
    await using harness = await Harness.open()
    const { redisUrl, namespace } = harness
    const long = { policy: { leaseMs: 600_000 } }
    const zombie = await harness.start('zombie', long)
    const session = await harness.client.sessions.create({ kind: 'slow', input: { ms: 1_000 } })
    await waitUntil('it runs', () => harness.ledger.lines('begun').length === 1)
    zombie.freeze()
    await harness.start('heir', long)
    const api = await startApi({ redisUrl, namespace, page: rig.folder, port: 0 })
    await page.goto(`${api.url}/#/fleet`)
    await page.getByRole('row', { name: /^silent.*Release its work/ }).waitFor()
    await page.getByRole('row', { name: /^live/ }).waitFor()
    await page.goto(`${api.url}/#/sessions/${session.id}`)
    await page.getByText(`process ${zombie.pid} on`).waitFor()
    await page.getByText('It holds 1 worker.').waitFor()
    await page.getByRole('button', { name: 'Release its work' }).press('Enter')
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('listitem').getByText('slow').waitFor()
    await dialog.getByLabel('Why?').fill('its machine hangs')
    await dialog.getByRole('button', { name: 'Release its work' }).click()
    await page.getByText('1 worker can go on elsewhere').waitFor()
    await page.getByText('completed').first().waitFor()
    expect(harness.ledger.lines('done').map(({ node }) => node)).toEqual(['heir'])
    await page.goto('about:blank')
    await api.close()
  }),
)

test(
  'an endpoint is added, tested, called again, disabled, given another secret and removed by keyboard',
  inBrowser(async (page) => {
    await using receiver = new Receiver()
    const url = await receiver.listen(500)
    const dialog = page.getByRole('dialog')
    const newSecret = async () => {
      const secret = await dialog.getByText(/^whsec_/).textContent()
      await page.keyboard.press('Escape')
      await dialog.waitFor({ state: 'detached' })
      return secret
    }
    await page.goto(rig.url('webhooks'))
    await page.getByText('No address is told of what happens').waitFor()
    await page.keyboard.press('n')
    await dialog.getByLabel('Address').fill('ftp://nowhere')
    await page.keyboard.press('Enter')
    await dialog.getByRole('alert').getByText('an address of http').waitFor()
    await dialog.getByLabel('Address').fill(url)
    await dialog.getByLabel('a worker asks a question').press(' ')
    await dialog.getByLabel('Address').press('Enter')
    const secret = await newSecret()
    await page.getByRole('heading', { name: url }).waitFor()
    await page.getByText('a session was cancelled, a worker asks a question').waitFor()
    expect(await page.evaluate(() => document.body.textContent)).not.toContain(secret)
    await page.keyboard.press('t')
    await page.getByRole('row', { name: /^failed webhook\.test.*500/ }).waitFor()
    await page.keyboard.press('b')
    await page.getByRole('row', { name: /^delivered webhook\.test.*200/ }).waitFor()
    expect(receiver.received).toHaveLength(2)
    await page.keyboard.press('Enter')
    await dialog.getByText(/"type": "webhook\.test"/).waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('D')
    await page.getByText('It gets no notices any more.').waitFor()
    await page.keyboard.press('u')
    await page.getByText('It gets notices of what happens from now on.').waitFor()
    await page.keyboard.press('R')
    await dialog.getByRole('button', { name: 'Rotate' }).click()
    expect(await newSecret()).not.toBe(secret)
    await page.getByText('Its former secret is good until').waitFor()

    const { redisUrl, namespace } = rig.api.troupe
    const token = 'reader-'.padEnd(40, 'x')
    const tokens = [entryOf(token, { name: 'reader', rights: ['read'] }, 'test')]
    const api = await startApi({ redisUrl, namespace, page: rig.folder, port: 0, tokens })
    await page.goto(`${api.url}/#/webhooks`)
    await dialog.getByLabel('Token').fill(token)
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: url }).first().click()
    await page.getByRole('button', { name: 'Disable' }).click()
    await page.getByText('has the right read, and this needs admin').waitFor()
    await page.goto('about:blank')
    await api.close()

    await page.goto(rig.url('webhooks'))
    await page.getByRole('link', { name: url }).first().press('Enter')
    await page.getByRole('heading', { name: url }).waitFor()
    await page.keyboard.press('X')
    await dialog.getByText('This cannot be taken back.').waitFor()
    await dialog.getByRole('button', { name: 'Remove' }).press('Enter')
    await page.getByText('No address is told of what happens').waitFor()
  }),
)
