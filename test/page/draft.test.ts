/** What a reader of the page has written and not sent is still there after a look at something else. */
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { waitUntil } from '../support/time/wait-until.ts'
import { PageRig } from './support/page-rig.ts'

const rig = new PageRig()
const inBrowser = rig.inBrowser.bind(rig)

async function lookElsewhere(page: Page, screen: string): Promise<void> {
  const links = page.getByRole('navigation', { name: 'Screens' })
  await links.getByRole('link', { name: 'Fleet' }).click()
  await page.getByRole('heading', { name: 'Fleet' }).waitFor()
  await links.getByRole('link', { name: screen }).click()
}

test(
  'an answer, an edit and a reason are kept until they are sent or given up',
  inBrowser(async (page) => {
    await rig.create('asking')
    await rig.create('clerk')
    await waitUntil('two are asked', async () => (await rig.api.get('/v1/asks')).body.asks.length === 2)
    await page.goto(rig.url('approvals'))
    const answer = page.getByLabel('Answer')
    const approval = page.getByRole('article', { name: 'Approval of publish' })
    const press = (name: string | RegExp) => approval.getByRole('button', { name }).click()
    await answer.fill('7')
    await press('Edit')
    await page.getByLabel('draft').uncheck()
    await approval.press('Escape')
    await press('Deny')
    await page.getByLabel('Why not?').fill('not yet')
    await lookElsewhere(page, 'Approvals')
    await press('Deny')
    expect(await page.getByLabel('Why not?').inputValue()).toBe('not yet')
    await press('Cancel')
    await press('Deny')
    expect(await page.getByLabel('Why not?').inputValue()).toBe('')
    await press('Cancel')
    await press('Edit')
    expect(await page.getByLabel('draft').isChecked()).toBe(false)
    expect(await answer.inputValue()).toBe('7')
  }),
)

test(
  'the input of a session that is not begun is kept',
  inBrowser(async (page) => {
    await page.goto(rig.url('kinds?kind=ordering'))
    await page.getByLabel('what').fill('green tea')
    await lookElsewhere(page, 'Kinds')
    await page.getByRole('button', { name: 'ordering' }).click()
    expect(await page.getByLabel('what').inputValue()).toBe('green tea')
  }),
)
