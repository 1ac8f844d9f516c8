/** Where a reader of the page is: they stay there when something comes in front, and nothing takes the room of what they read. */
import { expect, test } from 'vitest'
import { PageRig } from './support/page-rig.ts'

const rig = new PageRig()
const inBrowser = rig.inBrowser.bind(rig)

test(
  'a reader stays at what they read when earlier entries come in front of it',
  inBrowser(async (page) => {
    const session = await rig.create('resting')
    await page.route(new RegExp(`v1/sessions/${session}$`), async (route) => {
      const { session, workers } = await (await route.fetch()).json()
      await route.fulfill({ json: { session, workers: [{ ...workers[0], historyLength: 300 }] } })
    })
    await page.route(/v1\/workers\/[^/]+\/history\?/, (route) => {
      const query = new URL(route.request().url()).searchParams
      const [after, limit] = [Number(query.get('after')), Number(query.get('limit'))]
      const entries = Array.from({ length: Math.min(limit, 299 - after) }, (_, index) => {
        const position = after + 1 + index
        return { position, entry: { type: 'completed', v: 1, at: 1, run: 1, epoch: 1, value: `answer ${position}` } }
      })
      return route.fulfill({ json: { entries, length: 300 } })
    })
    await rig.inBothWidths(page, session, async (scroller, width) => {
      const first = page.getByText('answer 200', { exact: false })
      await first.waitFor({ state: 'attached' })
      await page.locator(scroller).evaluate((one) => one.scrollTo(0, 0))
      const before = await first.boundingBox()
      await page.getByRole('button', { name: 'Load earlier' }).click()
      await page.getByText('answer 100').waitFor({ state: 'attached' })
      const after = await first.boundingBox()
      expect(Math.abs((after?.y ?? 0) - (before?.y ?? 1_000)), `at ${width}`).toBeLessThan(2)
    })
  }),
)

test(
  'a long error in a low window leaves room for the worker',
  inBrowser(async (page) => {
    const session = await rig.create('failing')
    expect(await rig.endOf(session)).toBe('failed')
    await page.route(new RegExp(`v1/sessions/${session}$`), async (route) => {
      const report = await (await route.fetch()).json()
      report.session.failure.message = 'one line of the error\n'.repeat(90)
      await route.fulfill({ json: report })
    })
    for (const width of [1000, 360]) {
      await page.setViewportSize({ width, height: 400 })
      await page.goto(rig.url(`sessions/${session}`))
      const [error, worker] = [page.locator('.session-head .bad'), page.locator('.worker')]
      await worker.waitFor()
      expect((await error.boundingBox())?.height, `at ${width}`).toBeLessThan(150)
      expect((await worker.boundingBox())?.height, `at ${width}`).toBeGreaterThan(200)
    }
  }),
)

test(
  'a narrow window has room for the links to all screens',
  inBrowser(async (page) => {
    await page.setViewportSize({ width: 360, height: 800 })
    await page.goto(rig.url('sessions'))
    const audit = await page.getByRole('link', { name: 'Audit' }).boundingBox()
    expect((audit?.x ?? 0) + (audit?.width ?? 999)).toBeLessThanOrEqual(360)
  }),
)
