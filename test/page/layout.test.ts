/** What stands where on the page: nothing lies over what is pressed next, and nothing is cut off for want of a place. */
import type { Locator } from 'playwright-core'
import { expect, test } from 'vitest'
import { PageRig } from './support/page-rig.ts'

const rig = new PageRig()
const inBrowser = rig.inBrowser.bind(rig)
const create = rig.create.bind(rig)

async function boxOf(one: Locator) {
  const box = await one.boundingBox()
  if (box === null) throw new Error('it is not in the page')
  return { ...box, right: box.x + box.width, bottom: box.y + box.height }
}

test(
  'a note lies neither over the composer nor over what can be done with picked rows',
  inBrowser(async (page) => {
    const open = await create('resting', { keepOpen: true, name: 'hearth' })
    await page.goto(rig.url(`sessions/${open}`))
    for (const [width, height] of [
      [1280, 800],
      [400, 800],
    ] as const) {
      await page.setViewportSize({ width, height })
      await page.getByLabel('Message').fill('more wood')
      await page.getByLabel('Message').press('Enter')
      // The note goes by itself after four seconds, which a busy machine may need between two looks.
      const isAbove = await page.waitForFunction(() => {
        const [note, composer] = ['.note', '.composer'].map((one) =>
          document.querySelector(one)?.getBoundingClientRect(),
        )
        return note !== undefined && composer !== undefined && note.bottom <= composer.top
      })
      expect(await isAbove.jsonValue()).toBe(true)
      await page.waitForFunction(() => {
        document.querySelector<HTMLButtonElement>('.note [aria-label="Close this note"]')?.click()
        return document.querySelector('.note') === null
      })
    }
    await page.goto(rig.url('sessions?name=hearth'))
    await page.route('**/pause', (route) => route.fulfill({ status: 409, json: { detail: 'it has ended.' } }))
    await page.getByLabel('Pick hearth').check()
    await page.getByRole('button', { name: 'Pause 1' }).click()
    const note = page.locator('.note')
    await note.waitFor()
    await page.getByLabel('Pick hearth').check()
    await page.waitForFunction(() => {
      const [bar, note] = ['.pick-bar', '.note'].map((one) => document.querySelector(one)?.getBoundingClientRect())
      return bar !== undefined && note !== undefined && note.bottom <= bar.top
    })
  }),
)

test(
  'a table of sessions fits its window, whatever their names are, and the kinds of a node are all there',
  inBrowser(async (page) => {
    await create('resting', { name: 'a long name that goes on and on beside its kind, until it ends' })
    await create('asking', { keepOpen: true, name: 'short' })
    for (const width of [400, 700, 1000, 1400]) {
      await page.setViewportSize({ width, height: 800 })
      await page.goto(rig.url('sessions'))
      const table = page.getByRole('region', { name: 'Sessions' })
      await table.getByRole('link', { name: 'a long name' }).waitFor()
      const [has, needs] = await table.evaluate(({ clientWidth, scrollWidth }) => [clientWidth, scrollWidth])
      expect(needs, `at ${width}`).toBe(has)
      expect((await boxOf(table.getByRole('link', { name: 'a long name' }))).width).toBeGreaterThan(60)
    }
    await page.route(/v1\/nodes\?/, async (route) => {
      const { nodes } = await (await route.fetch()).json()
      const kinds = Array.from({ length: 9 }, (_, index) => `kind-${index + 1}`)
      await route.fulfill({ json: { nodes: nodes.map((node: object) => ({ ...node, kinds })) } })
    })
    await page.goto(rig.url('fleet'))
    const row = page.getByRole('region', { name: 'Nodes' }).getByRole('row').nth(1)
    await row.getByText(/kind-1, .*kind-8 and 1 more$/).click()
    await row.getByText('kind-9').waitFor()
    const cut = await row.evaluate(
      (one) =>
        [...one.querySelectorAll('.cut')].filter(({ clientWidth, scrollWidth }) => scrollWidth > clientWidth).length,
    )
    expect(cut).toBe(0)
  }),
)

test(
  'the list of keys begins at its top',
  inBrowser(async (page) => {
    await page.setViewportSize({ width: 1000, height: 400 })
    await page.goto(rig.url('sessions'))
    await page.getByRole('heading', { name: 'Sessions' }).waitFor()
    await page.keyboard.press('?')
    const dialog = page.getByRole('dialog')
    const [title, close] = [
      dialog.getByRole('heading', { name: 'Keys' }),
      dialog.getByRole('button', { name: 'Close' }),
    ]
    await close.waitFor()
    const box = await boxOf(dialog)
    expect((await boxOf(title)).y).toBeGreaterThan(box.y)
    expect((await boxOf(close)).bottom).toBeLessThanOrEqual(box.bottom)
  }),
)

test(
  'a reader at the end of a conversation stays there, also in a narrow window',
  inBrowser(async (page) => {
    const input = { what: 'tea', often: true }
    const session = await create('ordering', { keepOpen: true, input })
    const { rootId } = (await rig.api.get(`/v1/sessions/${session}`)).body.session
    const sendMore = async () => {
      for (let sent = 0; sent < 12; sent++) await rig.api.post(`/v1/workers/${rootId}/messages`, { input })
    }
    await sendMore()
    await rig.inBothWidths(page, session, async (scroller) => {
      const box = page.locator(scroller)
      await page.getByText('completed:').nth(11).waitFor({ state: 'attached' })
      await box.evaluate((one) => one.scrollTo(0, one.scrollHeight))
      const before = await box.evaluate((one) => one.scrollTop)
      expect(before).toBeGreaterThan(0)
      await sendMore()
      await page.waitForFunction(
        ({ scroller, before }) => {
          const one = document.querySelector(scroller)
          if (one === null || one.scrollTop < before + 200) return false
          return one.scrollHeight - one.scrollTop - one.clientHeight < 2
        },
        { scroller, before },
      )
    })
  }),
)

test(
  'a word that is longer than a line is broken where the line ends',
  inBrowser(async (page) => {
    const word = 'w'.repeat(300)
    const cancelled = await create('resting')
    await rig.api.post(`/v1/sessions/${cancelled}/cancel`, { reason: word })
    await create('asking')
    await page.route(/v1\/asks\?/, async (route) => {
      const { asks } = await (await route.fetch()).json()
      const [ask] = asks
      await route.fulfill({
        json: {
          asks: [
            { ...ask, question: word },
            { ...ask, id: cancelled, options: [word, 'no'] },
          ],
        },
      })
    })
    await page.route(/v1\/kinds/, async (route) => {
      const { kinds } = await (await route.fetch()).json()
      await route.fulfill({ json: { kinds: kinds.map((kind: object) => ({ ...kind, description: word })) } })
    })
    for (const width of [1280, 360]) {
      await page.setViewportSize({ width, height: 800 })
      for (const place of [`sessions/${cancelled}`, 'approvals', 'kinds']) {
        await page.goto(rig.url(place))
        await page.getByText(word).first().waitFor()
        const screen = page.locator('.screen')
        const [has, needs] = await screen.evaluate(({ clientWidth, scrollWidth }) => [clientWidth, scrollWidth])
        expect(needs, `${place} at ${width}`).toBe(has)
      }
    }
  }),
)
