/** Keys that are meant for something else than the screen, and a copy that a reader makes by keyboard. */
import { expect, test } from 'vitest'
import { PageRig } from './support/page-rig.ts'

const rig = new PageRig()

test(
  'a key does nothing while Ctrl, Alt or Meta is held, nor behind a dialog (PAGE-KEYS-1); a dry run is forked as one',
  rig.inBrowser(async (page) => {
    const session = await rig.create('resting', { keepOpen: true })
    await page.goto(rig.url(`sessions/${session}`))
    await page.getByRole('button', { name: 'Fork' }).waitFor()
    const dialog = page.getByRole('dialog')
    for (const held of ['Control', 'Alt', 'Meta']) await page.keyboard.press(`${held}+Shift+F`)
    expect(await dialog.count()).toBe(0)
    await page.keyboard.press('F')
    await dialog.waitFor()
    // Behind the dialog, this would pause the session.
    await page.keyboard.press('P')
    await dialog.getByLabel(/^Dry run/).check()
    await dialog.getByRole('button', { name: 'Fork' }).click()
    await page.getByText('This is the copy: both go on.').waitFor()
    await page.getByText('copy of').waitFor()
    const [, copy] = /sessions\/([^?]+)/.exec(page.url()) ?? []
    const read = async (id: string) => (await rig.api.get(`/v1/sessions/${id}`)).body.session
    expect((await read(copy ?? '')).forkedFrom).toMatchObject({ sessionId: session, dryRun: true })
    expect((await read(session)).paused).toBe(null)
  }),
)

test(
  'of several sessions that are cancelled at once, one that had ended before is named, and the others are done',
  rig.inBrowser(async (page) => {
    const [ended] = [
      await rig.create('resting', { name: 'pair one' }),
      await rig.create('resting', { name: 'pair two' }),
    ]
    await page.goto(rig.url('sessions?name=pair'))
    await page.getByLabel('Pick pair').nth(1).waitFor()
    await page.keyboard.press('*')
    await page.getByRole('button', { name: 'Cancel 2' }).click()
    await rig.api.post(`/v1/sessions/${ended}/cancel`, {})
    await page.getByRole('button', { name: 'Cancel 2 sessions' }).click()
    await page.locator('.note', { hasText: '1 session was cancelled.' }).waitFor()
    const others = page.locator('.note', { hasText: 'Not with 1 of 2' })
    await others.waitFor()
    expect(await others.textContent()).toContain('Not with 1 of 2: session pair one had ended before.')
  }),
)
