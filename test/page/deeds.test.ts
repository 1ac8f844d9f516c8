/** What people do on the page, by keyboard and by mouse: decide, handle several at once, begin, steer and end sessions. */
import { expect, test } from 'vitest'
import { chat } from '../../src/core/history/chat/message-factories.ts'
import type { Entry } from '../../src/core/history/entry.ts'
import { partitionKeys } from '../../src/store/keys.ts'
import { waitUntil } from '../support/time/wait-until.ts'
import { PageRig } from './support/page-rig.ts'

const rig = new PageRig()
const inBrowser = rig.inBrowser.bind(rig)
const create = rig.create.bind(rig)
const approvals = rig.approvals.bind(rig)

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
  'a decision is sent as soon as the page is left, and then cannot be taken back',
  inBrowser(async (page) => {
    const session = await create('clerk')
    await page.clock.install()
    await page.goto(rig.url(`sessions/${session}`))
    const approve = page.getByRole('button', { name: 'Approve' }).first()
    await approve.waitFor()
    // From here on no time passes in the page.
    await page.clock.pauseAt(await page.evaluate(() => Date.now() + 600_000))
    await approve.click()
    const answer = Promise.withResolvers<void>()
    await page.route('**/v1/approvals/*', async (route) => {
      await answer.promise
      await route.continue()
    })
    const sent = page.waitForRequest(/v1\/approvals\/./)
    await page.evaluate(() => {
      Object.defineProperty(document, 'visibilityState', { value: 'hidden' })
      document.dispatchEvent(new Event('visibilitychange'))
    })
    await sent
    await page.clock.resume()
    await page.keyboard.press('u')
    // By then the page has drawn what the key does.
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))))
    expect(await page.getByText('Decided.').isVisible()).toBe(true)
    answer.resolve()
    await page.getByText('completed').first().waitFor()
  }),
)

test(
  'a key does nothing to a call that is being edited, nor to one that came into the place of the chosen one',
  inBrowser(async (page) => {
    const [first] = [await create('clerk'), await create('clerk')]
    const asked = await waitUntil('both calls wait', async () => {
      const all = await approvals()
      return all.length > 1 && all.find(({ sessionId }) => sessionId === first)
    })
    await page.goto(rig.url(`approvals?ask=${asked?.id}`))
    const chosen = page.locator('article[data-chosen=true]')
    await chosen.waitFor()
    await page.keyboard.press('e')
    await page.getByLabel('draft').press('a')
    expect(await page.getByText('Decided.').count()).toBe(0)
    await page.keyboard.press('Escape')
    await rig.api.post(`/v1/approvals/${asked?.id}`, { decision: 'approve', hash: asked?.hash })
    await chosen.waitFor({ state: 'detached' })
    await page.keyboard.press('a')
    await page.keyboard.press('j')
    await chosen.waitFor()
    expect(await page.getByText('Decided.').count()).toBe(0)
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
    await page.keyboard.press(' ')
    opened.push(await create('asking', { keepOpen: true, name: 'herd' }))
    await page.getByLabel('Pick herd').nth(3).waitFor()
    for (const key of ['j', ' ']) await page.keyboard.press(key)
    await page.getByRole('button', { name: 'Pause 2' }).click()
    await page.getByText('2 sessions are paused.').waitFor()
    expect(await paused()).toBe(2)
    await page.keyboard.press('u')
    await page.getByText('2 sessions go on.').waitFor()
    expect(await paused()).toBe(0)
    await page.keyboard.press('*')
    await page.getByRole('button', { name: 'Cancel 4' }).click()
    await page.getByLabel('Why?').fill('enough of these')
    await page.getByRole('button', { name: 'Cancel 4 sessions' }).click()
    const note = page.locator('.note', { hasText: '4 sessions were cancelled.' })
    await note.waitFor()
    expect(await note.getByRole('button', { name: 'Undo' }).count()).toBe(0)
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
  'a session is begun, followed, steered and cancelled from the page',
  inBrowser(async (page) => {
    await page.goto(rig.url('kinds?kind=asking'))
    await page.getByLabel('Input').fill('count')
    await page.getByRole('button', { name: 'Start' }).click()
    await page.getByLabel('Answer').fill('4')
    await page.getByRole('button', { name: 'Answer' }).click()
    await page.getByText('completed: 4').waitFor()
    await page.getByRole('button', { name: 'Export' }).waitFor()

    await page.goto(rig.url('kinds?kind=ordering'))
    await page.getByLabel('what').fill('tea')
    await page.getByLabel('often').check()
    await page.getByLabel('cups').fill('{"green":')
    await page.getByRole('button', { name: 'Start' }).click()
    expect(await page.locator(':invalid').count()).toBeGreaterThan(0)
    expect(await page.getByLabel('cups').getAttribute('aria-invalid')).toBe('true')
    await page.getByLabel('cups').fill('{"green":2}')
    for (const tin of [1, 2]) {
      await page.getByRole('button', { name: 'Add' }).click()
      await page.getByLabel(String(tin), { exact: true }).fill(`{"tin":${tin}}`)
    }
    await page.getByRole('button', { name: 'Remove item 1' }).click()
    expect(JSON.parse(await page.getByLabel('1', { exact: true }).inputValue())).toEqual({ tin: 2 })
    await page.getByRole('button', { name: 'Start' }).click()
    await page.getByText('completed: {"what":"tea","often":true,"cups":{"green":2},"tins":[{"tin":2}]}').waitFor()

    const open = await create('asking', { keepOpen: true })
    await page.goto(rig.url(`sessions/${open}`))
    // Longer than what a browser sends for a page that has gone.
    await page.getByLabel('Message').fill('茶'.repeat(25_000))
    await page.getByLabel('Message').press('Enter')
    await page.getByText('Sent').waitFor()
    await page.route(
      '**/messages',
      async (route) => {
        await route.fetch()
        await route.abort()
      },
      { times: 1 },
    )
    await page.getByLabel('Message').fill('once')
    await page.getByRole('tab', { name: 'State' }).click()
    await page.getByRole('tab', { name: 'Conversation' }).click()
    await page.getByLabel('Message').press('Enter')
    await page.locator('.note').getByText('The server does not answer.').waitFor()
    await page.getByLabel('Message').press('Enter')
    await page.waitForFunction(() => document.querySelector<HTMLTextAreaElement>('[aria-label=Message]')?.value === '')
    const { rootId } = (await rig.api.get(`/v1/sessions/${open}`)).body.session
    expect((await rig.api.get(`/v1/workers/${rootId}/mailbox`)).body.mails).toHaveLength(2)
    await page.keyboard.press('Tab')
    await page.getByRole('tab', { name: 'State' }).focus()
    await page.keyboard.press('X')
    await page.getByLabel('Why?').fill('enough')
    await page.getByRole('button', { name: 'Cancel the session' }).click()
    await page.getByText('Cancelled: enough').waitFor()
  }),
)

test(
  'the page says what came of a deed, and a deed that is done again for want of an answer is done once',
  inBrowser(async (page) => {
    const talk = await create('clerk', { keepOpen: true })
    const asked = await waitUntil('it asks', async () => (await approvals()).find((one) => one.sessionId === talk))
    await rig.api.post(`/v1/approvals/${asked?.id}`, { decision: 'approve', hash: asked?.hash })
    expect(await rig.endOf(talk)).toBe('completed')
    await page.goto(rig.url(`sessions/${talk}?tab=state`))
    await page.route(
      '**/undo',
      async (route) => {
        await route.fetch()
        await route.abort()
      },
      { times: 1 },
    )
    const undo = page.getByRole('button', { name: 'Take the last turn back' })
    await undo.click()
    await page.locator('.note').getByText('The server does not answer.').waitFor()
    await undo.click()
    await page.getByText('The last turn is in no prompt any more.').waitFor()
    const { rootId } = (await rig.api.get(`/v1/sessions/${talk}`)).body.session
    const { entries } = (await rig.api.get(`/v1/workers/${rootId}/history`)).body
    expect(entries.filter(({ entry }: { readonly entry: Entry }) => entry.type === 'undone')).toHaveLength(1)
    const history = [chat.user('one'), chat.assistant('1')]
    const { body } = await rig.api.post('/v1/sessions', { kind: 'clerk', keepOpen: true, history })
    await page.goto(rig.url(`sessions/${body.sessionId}?tab=state`))
    await page.getByRole('button', { name: 'Compact' }).click()
    await page.getByText(/^Nothing was compacted: ./).waitFor()
    await page.getByRole('tab', { name: 'State' }).press('X')
    await rig.api.post(`/v1/sessions/${body.sessionId}/cancel`, {})
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel the session' }).click()
    await page.getByText('It had ended before, and stays as it is.').waitFor()
  }),
)
