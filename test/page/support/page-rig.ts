/** The page, built into a folder of its own, on the API in front of a node; and a browser that looks at it. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, type TestContext } from 'vitest'
import { buildPage } from '../../../scripts/page.ts'
import { TestApi } from '../../api/support/test-api.ts'
import { patienceMs } from '../../support/time/patience.ts'
import { startBrowser } from './browser.ts'
import { hostile, kinds } from './kinds.ts'

interface Asked {
  readonly id: string
  readonly hash: string
  readonly sessionId: string
}

export class PageRig {
  /** Set before the first test. */
  folder!: string
  api!: TestApi
  #browser: Browser | null = null
  #context!: BrowserContext
  /** What pages did that no page of the tests may do: ask another host, break its policy, throw. */
  readonly #complaints: string[] = []

  constructor() {
    beforeAll(() => this.#open())
    afterAll(() => this.#close())
  }

  async #open(): Promise<void> {
    this.folder = await mkdtemp(join(tmpdir(), 'troupe-page-'))
    await buildPage(this.folder)
    this.api = await TestApi.start(kinds, {
      page: this.folder,
      rate: 1_000_000,
      webhooks: { allowPrivateAddresses: true },
    })
    this.#browser = await startBrowser()
    if (this.#browser === null) return
    this.#context = await this.#browser.newContext({ viewport: { width: 1280, height: 800 } })
    this.#context.setDefaultTimeout(patienceMs)
  }

  async #close(): Promise<void> {
    await this.#browser?.close()
    await this.api?.[Symbol.asyncDispose]()
    await rm(this.folder, { recursive: true, force: true })
  }

  /** A test that runs on a page of its own. */
  inBrowser(run: (page: Page) => Promise<void>) {
    return async ({ skip }: TestContext) => {
      if (this.#browser === null) return skip('there is no chromium on the PATH, and no apt to install it')
      this.#complaints.length = 0
      const page = await this.#context.newPage()
      this.#listen(page)
      await run(page)
      await page.close()
      if (this.#complaints.length > 0) throw new Error(`the page did what it must not: ${this.#complaints.join('; ')}`)
    }
  }

  #listen(page: Page): void {
    const complaints = this.#complaints
    page.on('pageerror', ({ message }) => complaints.push(message))
    page.on('console', (said) => {
      if (/Content Security Policy|Refused to/.test(said.text())) complaints.push(said.text())
    })
    page.on('request', (request) => {
      const { protocol, hostname } = new URL(request.url())
      if (protocol === 'http:' && hostname === '127.0.0.1' && !/:9\//.test(request.url())) return
      if (protocol !== 'blob:') complaints.push(`asked ${request.url()}`)
    })
  }

  url(place: string): string {
    return this.api.url(`/#/${place}`)
  }

  async create(kind: string, more: object = {}): Promise<string> {
    const { body, status } = await this.api.post('/v1/sessions', { kind, input: `Please: ${hostile}`, ...more })
    if (status !== 202) throw new Error(`no session was created: ${JSON.stringify(body)}`)
    return body.sessionId
  }

  async approvals(): Promise<readonly Asked[]> {
    return (await this.api.get('/v1/approvals?limit=200')).body.approvals
  }

  /** Opens the session in a wide and in a narrow window. `scroller`: what of the page scrolls there. */
  async inBothWidths(page: Page, session: string, look: (scroller: string, width: number) => Promise<void>) {
    for (const [width, scroller] of [
      [1000, '.messages'],
      [400, '.screen'],
    ] as const) {
      await page.setViewportSize({ width, height: 600 })
      await page.goto(this.url(`sessions/${session}`))
      await look(scroller, width)
      await page.goto('about:blank')
    }
  }

  /** The state of the session, once it is known for good. */
  async endOf(session: string): Promise<string> {
    return (await this.api.get(`/v1/sessions/${session}/result?wait=60`)).body.status
  }
}
