/** Whether what the page shows is fresh, where only a part of it can be read. */
import { expect, test } from 'vitest'
import { PageRig } from './support/page-rig.ts'

const rig = new PageRig()

test(
  'while one of the things that it shows cannot be read, the page is stale, and does not change its mind with each answer',
  rig.inBrowser(async (page) => {
    const away = { code: 'store_unavailable', detail: 'a partition is away.' }
    await page.route('**/v1/dead?*', (route) => route.fulfill({ status: 503, json: away }))
    await page.goto(rig.url('sessions'))
    const stale = page.getByRole('button', { name: /stale since .*a partition is away/ })
    await stale.waitFor()
    await page.evaluate(() => {
      const states = new Set<string>()
      const dot = document.querySelector('.live')
      const note = () => states.add(dot?.getAttribute('data-state') ?? '')
      note()
      if (dot !== null) new MutationObserver(note).observe(dot, { attributes: true })
      Object.assign(window, { states })
    })
    await page.waitForResponse((reply) => /v1\/sessions\?/.test(reply.url()))
    await page.waitForResponse((reply) => /v1\/asks\?/.test(reply.url()))
    expect(await page.evaluate(() => [...(window as unknown as { states: Set<string> }).states])).toEqual(['stale'])
  }),
)

test(
  'entries of a conversation that could not be read are read again',
  rig.inBrowser(async (page) => {
    const session = await rig.create('resting')
    let isAway = true
    await page.route(/v1\/workers\/[^/]+\/history\?/, (route) => {
      if (!isAway) return route.continue()
      isAway = false
      return route.fulfill({ status: 503, json: { code: 'store_unavailable', detail: 'a partition is away.' } })
    })
    await page.goto(rig.url(`sessions/${session}`))
    await page.getByText('received input').waitFor()
    expect(isAway).toBe(false)
  }),
)
