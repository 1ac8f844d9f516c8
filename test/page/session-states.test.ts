/** What the page says and offers in each state of a session, and to who has no token. */
import { expect, test } from 'vitest'
import { startApi } from '../../src/api/api.ts'
import { entryOf } from '../../src/api/guard/tokens.ts'
import { waitUntil } from '../support/time/wait-until.ts'
import { PageRig } from './support/page-rig.ts'

const rig = new PageRig()
const inBrowser = rig.inBrowser.bind(rig)
const create = rig.create.bind(rig)

test(
  'a paused session says since when and why, and that a message waits until it is resumed',
  inBrowser(async (page) => {
    const session = await create('resting', { keepOpen: true })
    await rig.api.post(`/v1/sessions/${session}/pause`, { reason: 'until noon' })
    await page.goto(rig.url(`sessions/${session}`))
    await page.getByText(/^Paused .* ago.*: until noon\. Nothing more begins/).waitFor()
    await page.getByLabel('Message').fill('later')
    await page.getByLabel('Message').press('Enter')
    await page.getByText('Sent: it is received once the session is resumed.').waitFor()
    await page.getByRole('button', { name: 'Resume' }).click()
    await page.getByText(/^Paused .* ago/).waitFor({ state: 'detached' })
    expect((await rig.api.get(`/v1/sessions/${session}`)).body.session.paused).toBe(null)
  }),
)

test(
  'a conversation that was closed says who closed it',
  inBrowser(async (page) => {
    const session = await create('resting', { keepOpen: true })
    await page.goto(rig.url(`sessions/${session}`))
    await rig.api.post(`/v1/sessions/${session}/close`)
    await page.getByText(/^Closed .* ago by /).waitFor()
    const { closed } = (await rig.api.get(`/v1/sessions/${session}`)).body.session
    expect(closed).toEqual({ by: expect.any(String), at: expect.any(Number) })
  }),
)

test(
  'a copy of a session and a branch of its conversation say of what they are one, and lead there',
  inBrowser(async (page) => {
    const session = await create('clerk', { keepOpen: true })
    await waitUntil('it asks', async () => (await rig.approvals()).some(({ sessionId }) => sessionId === session))
    const { rootId } = (await rig.api.get(`/v1/sessions/${session}`)).body.session
    const { body: copy } = await rig.api.post(`/v1/sessions/${session}/fork`)
    const { body: branch } = await rig.api.post(`/v1/workers/${rootId}/fork`, { at: 0 })
    for (const { made, of, id } of [
      { made: copy, of: 'copy of', id: session },
      { made: branch, of: 'branch of', id: rootId },
    ]) {
      await page.goto(rig.url(`sessions/${made.sessionId}`))
      const tag = page.locator('.session-head .tag', { hasText: of })
      expect(await tag.textContent()).toBe(`${of} ${id.slice(0, 8)}`)
      await tag.getByRole('link').click()
      await page.waitForURL(new RegExp(`/sessions/${session}`))
    }
    await expect.poll(() => page.locator('.session-head .tag').allTextContents()).toEqual(['conversation'])
  }),
)

test(
  'a session that was pruned is asked for no more',
  inBrowser(async (page) => {
    const session = await create('resting', { keepOpen: true })
    await page.clock.install()
    await page.goto(rig.url(`sessions/${session}`))
    await page.getByRole('button', { name: 'Fork' }).waitFor()
    const gone = { code: 'session_not_found', detail: 'it may have been pruned.' }
    let asked = 0
    await page.route(`**/v1/sessions/${session}`, (route) => {
      asked++
      return route.fulfill({ status: 404, json: gone })
    })
    await page.clock.fastForward(6_000)
    await page.getByRole('alert').getByText('it may have been pruned.').waitFor()
    const before = asked
    for (let round = 0; round < 3; round++) {
      const others = page.waitForRequest((request) => request.url().includes('/v1/asks'))
      await page.clock.fastForward(6_000)
      await others
    }
    expect(asked).toBe(before)
  }),
)

test(
  'a session that has ended offers nothing that it refuses',
  inBrowser(async (page) => {
    const [done, failed] = [await create('ordering', { input: { what: 'tea', often: true } }), await create('failing')]
    expect(await rig.endOf(done)).toBe('completed')
    await page.goto(rig.url(`sessions/${done}`))
    await page.getByText('The session has ended, and takes no message any more.').waitFor()
    expect(await rig.endOf(failed)).toBe('failed')
    await page.goto(rig.url(`sessions/${failed}`))
    await page.getByText('The session has failed, and takes no message.').waitFor()
    await page.keyboard.press('F')
    expect(await page.getByRole('dialog').count()).toBe(0)
    for (const name of ['Fork', 'Limits', 'Send']) expect(await page.getByRole('button', { name }).count()).toBe(0)
  }),
)

test(
  'a worker is cancelled for good only once its reader has said so again',
  inBrowser(async (page) => {
    const session = await create('parent')
    const child = await waitUntil('its clerk asks', async () =>
      (await rig.approvals()).find(({ sessionId }) => sessionId === session),
    )
    const open = async () => (await rig.approvals()).some(({ id }) => id === child.id)
    const { workers } = (await rig.api.get(`/v1/sessions/${session}`)).body
    const { id } = workers.find(({ kind }: { readonly kind: string }) => kind === 'clerk')
    await page.goto(rig.url(`sessions/${session}?worker=${id}&tab=state`))
    await page.getByRole('treeitem', { name: /waiting needs somebody$/ }).waitFor()
    await page.getByRole('button', { name: 'Cancel it for good' }).click()
    const dialog = page.getByRole('dialog', { name: /^Cancel it for good: north/ })
    await dialog.getByText('This cannot be taken back.').waitFor()
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    expect(await open()).toBe(true)
    await page.getByRole('button', { name: 'Cancel it for good' }).click()
    await dialog.getByRole('button', { name: 'Cancel it for good' }).click()
    await page.getByText('Cancelled, with all that it spawned.').waitFor()
    await waitUntil('its ask is withdrawn', async () => !(await open()))
  }),
)

test(
  'a question for a number is not answered by a slip',
  inBrowser(async (page) => {
    const session = await create('asking')
    await page.goto(rig.url(`sessions/${session}`))
    const answer = page.getByRole('button', { name: 'Answer', exact: true })
    await answer.waitFor()
    expect([await page.getByLabel('Answer').inputValue(), await answer.isDisabled()]).toEqual(['', true])
    await page.getByLabel('Answer').fill('0')
    await answer.click()
    expect(await rig.endOf(session)).toBe('completed')
  }),
)

test(
  'a reader who puts off giving a token is not asked again until they want to',
  inBrowser(async (page) => {
    const { redisUrl, namespace } = rig.api.troupe
    const token = 'reader-'.padEnd(40, 'x')
    const tokens = [entryOf(token, { name: 'reader', rights: ['read'] }, 'test')]
    const api = await startApi({ redisUrl, namespace, page: rig.folder, port: 0, tokens })
    const refused: string[] = []
    page.on('response', (response) => {
      if (response.status() === 401) refused.push(response.url())
    })
    await page.clock.install()
    await page.goto(`${api.url}/#/sessions`)
    const dialog = page.getByRole('dialog')
    await dialog.getByText('ask whoever runs it for one').waitFor()
    await page.keyboard.press('Escape')
    const give = page.getByRole('button', { name: 'Give a token' })
    await give.waitFor()
    refused.length = 0
    // The page asks the same again only once it has read the refusal before.
    await waitUntil('the same was refused twice', async () => {
      await page.clock.fastForward(1_000)
      return new Set(refused).size < refused.length
    })
    expect(await dialog.count()).toBe(0)
    await give.press('Enter')
    await dialog.locator('input').fill(token)
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'live' }).waitFor()
    expect(await give.count()).toBe(0)
    await page.goto('about:blank')
    await api.close()
  }),
)
