/**
 * Duty: audits that callers begin: one at a time, and what came of the last one.
 * AUDITS-1 Nobody waits for an audit over HTTP: an audit of many sessions takes minutes. What is known of an audit is lost when this process ends.
 */
import type { AuditProgress, AuditReport } from '../audit/audit.ts'
import type { Troupe } from '../client/client.ts'
import { ofThrown } from './app/refusal.ts'
import type { Problem } from './problem.ts'

export interface AuditView {
  readonly state: 'none' | 'running' | 'done' | 'failed'
  readonly startedAt: number | null
  readonly finishedAt: number | null
  readonly progress: AuditProgress | null
  readonly report: AuditReport | null
  readonly problem: Pick<Problem, 'code' | 'detail'> | null
}

export class Audits {
  #view: AuditView = { state: 'none', startedAt: null, finishedAt: null, progress: null, report: null, problem: null }

  get view(): AuditView {
    return this.#view
  }

  begin(troupe: Troupe, sessionId: string | undefined): AuditView {
    if (this.#view.state === 'running') return this.#view
    this.#change({ state: 'running', startedAt: Date.now(), finishedAt: null, progress: null, problem: null })
    void this.#run(troupe, sessionId)
    return this.#view
  }

  async #run(troupe: Troupe, sessionId: string | undefined): Promise<void> {
    try {
      const report = await troupe.audit({ sessionId, onProgress: (progress) => this.#change({ progress }) })
      this.#change({ state: 'done', finishedAt: Date.now(), report })
    } catch (thrown) {
      const { code, detail } = ofThrown(thrown).problem
      this.#change({ state: 'failed', finishedAt: Date.now(), problem: { code, detail } })
    }
  }

  #change(change: Partial<AuditView>): void {
    this.#view = { ...this.#view, ...change }
  }
}
