/** Duty: pills: what a list is filtered by, or shown as. A pill that is on is pressed. */
import type { ReactNode } from 'react'

interface PillProps {
  readonly isOn: boolean
  readonly onPress: () => void
  readonly children: ReactNode
}

export function Pill({ isOn, onPress, children }: PillProps): ReactNode {
  return (
    <button type="button" className="pill" aria-pressed={isOn} onClick={onPress}>
      {children}
    </button>
  )
}

interface ChoiceProps<One extends string> {
  readonly of: readonly One[]
  readonly chosen: One | undefined
  /** The one that was pressed; undefined if it was on. */
  readonly onChoose: (one: One | undefined) => void
  /** Stands before each. */
  readonly prefix?: string
}

/** One pill for each, of which one at most is on. */
export function Pills<One extends string>({ of, chosen, onChoose, prefix = '' }: ChoiceProps<One>): ReactNode {
  return of.map((one) => (
    <Pill key={one} isOn={one === chosen} onPress={() => onChoose(one === chosen ? undefined : one)}>
      {prefix}
      {one}
    </Pill>
  ))
}
