/** Duty: what a slot does when one of its turns ends, as data. The slot makes it, and the ending commit of the turn carries it out. */
import type { Assignment, NextClaim, SlotOffer } from '../../core/ports/ports.ts'

/** A turn that is about to end, as its slot sees it. */
export interface EndingTurn {
  readonly assignment: Assignment
  /** It was cancelled, or its node stops. */
  readonly aborted: boolean
}

export type SlotPlan =
  | { readonly kind: 'claim'; readonly claim: NextClaim }
  /** `wasBusy`: the slot's wake-up was moved to the busy ones. */
  | { readonly kind: 'leave'; readonly wasBusy: boolean }
  /** The slot runs something else first. `children`: spawned by this very step, and offered to the slot (inline-children.ts). */
  | { readonly kind: 'stay'; readonly children?: SlotOffer }
