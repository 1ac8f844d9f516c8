/** Duty: the frame of all screens: rail, bar, notes, the list of keys, and the question for a token. */
import { Outlet, useNavigate } from '@tanstack/react-router'
import { type ReactNode, useEffect, useState } from 'react'
import { whenTokenIsNeeded } from '../api/http.ts'
import { togglePause, useLiveness } from '../api/liveness.ts'
import { useAsks, useOpenLetters } from '../api/queries.ts'
import { useNow } from '../clock.ts'
import { useKeys } from '../keys.ts'
import { Notes, undoNewest } from '../parts/dialog/notes.tsx'
import { Text } from '../parts/text/text.tsx'
import { ageText } from '../parts/text/time.tsx'
import { TitleSlot } from '../parts/text/title.tsx'
import { DropFile } from './drop-file.tsx'
import { Help } from './help.tsx'
import { Rail, screens } from './rail.tsx'
import { useTheme } from './theme.ts'
import { TokenDialog } from './token-dialog.tsx'

export function Shell(): ReactNode {
  const [isHelpOpen, setHelpOpen] = useState(false)
  const [theme, nextTheme] = useTheme()
  const navigate = useNavigate()
  const counts = useCounts()
  useKeys('Everywhere', [
    { key: '?', does: 'this list', run: () => setHelpOpen(true) },
    { key: '/', does: 'search', run: () => document.querySelector<HTMLElement>('[data-search]')?.focus() },
    { key: '.', does: 'pause and resume the page', run: togglePause },
    { key: 'u', does: 'take back what the newest note says', run: undoNewest },
    { key: 'T', does: 'light, dark, or as the system says', run: nextTheme },
    ...screens.map(({ to, name, key }) => ({
      key: `g ${key}`,
      does: name,
      run: () => void navigate({ to }),
    })),
  ])
  return (
    <div className="shell">
      <button type="button" className="skip" onClick={skipToMain}>
        Skip to the content
      </button>
      <Rail counts={counts} />
      <header className="bar">
        <TitleSlot />
        <TokenQuestion />
        <LiveDot />
        <button
          type="button"
          className="button plain"
          onClick={nextTheme}
          aria-label={`Theme: ${theme}. Change it`}
          title={`Theme: ${theme} (T)`}
        >
          {theme === 'dark' ? '☾' : theme === 'light' ? '☀' : '◐'}
        </button>
        <button
          type="button"
          className="button plain"
          onClick={() => setHelpOpen(true)}
          aria-label="Keys"
          title="Keys (?)"
        >
          ?
        </button>
      </header>
      <main id="main" className="screen" tabIndex={-1}>
        <Outlet />
      </main>
      {isHelpOpen && <Help onClose={() => setHelpOpen(false)} />}
      <DropFile />
      <Notes />
    </div>
  )
}

/** A link cannot do this, because an address with `#` names a screen. */
function skipToMain(): void {
  document.getElementById('main')?.focus()
}

/** How much waits for somebody; the title of the tab says it too. */
function useCounts(): Readonly<Record<string, number>> {
  const approvals = useAsks().data?.asks.length ?? 0
  const letters = useOpenLetters().data?.letters.length ?? 0
  useEffect(() => {
    document.title = approvals > 0 ? `(${approvals}) troupe` : 'troupe'
  }, [approvals])
  return { '/approvals': approvals, '/dead': letters }
}

function LiveDot(): ReactNode {
  const liveness = useLiveness()
  const now = useNow()
  const word = liveness.state === 'stale' ? `stale since ${ageText(now - liveness.since)}` : liveness.state
  return (
    <button
      type="button"
      className="live"
      data-state={liveness.state}
      onClick={togglePause}
      title="Pause or resume the page (.)"
    >
      <span>{word}</span>
      {liveness.state === 'stale' && (
        <span className="live-why cut">
          <Text text={liveness.why} isLine />
        </span>
      )}
    </button>
  )
}

/** Whoever has put it off reads on, and is asked again by the button alone. */
function TokenQuestion(): ReactNode {
  const [why, setWhy] = useState<string | null>(null)
  const [isPutOff, setPutOff] = useState(false)
  useEffect(() => whenTokenIsNeeded((error) => setWhy(error.message)), [])
  if (why === null) return null
  if (isPutOff)
    return (
      <button type="button" className="button main" onClick={() => setPutOff(false)}>
        Give a token
      </button>
    )
  return <TokenDialog why={why} onGiven={() => setWhy(null)} onClose={() => setPutOff(true)} />
}
