/**
 * The browser of the tests of the page: chromium on the PATH, or installed by apt as root, as the Redis of the tests is. Where there is neither, the
 * tests say so and are skipped.
 */
import { type Browser, chromium } from 'playwright-core'
import { installDebianPackage } from '../../../src/dev/debian-package.ts'
import { findProgram } from '../../../src/dev/program.ts'

const names = ['chromium', 'chromium-browser', 'google-chrome']

/** Null: there is no browser, and none can be installed. */
export async function startBrowser(): Promise<Browser | null> {
  const path = process.env.PATH ?? ''
  const tell = (line: string) => process.stderr.write(`${line}\n`)
  if (!(await findProgram(names, path))) await installDebianPackage('chromium', path, tell)
  const executablePath = await findProgram(names, path)
  if (executablePath === undefined) return null
  // The tests may run as root, where the sandbox of chromium does not work. Chromium sees only pages of the tests.
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'] })
}
