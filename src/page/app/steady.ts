/** Duty: keep what comes and goes in a moment from moving the page. */
import { useEffect, useState } from 'react'

/** True once something has held for so long, and from the start if it held when the part came onto the page. */
export function useSteady(holds: boolean, ms: number): boolean {
  const [isSteady, setSteady] = useState(holds)
  useEffect(() => {
    if (!holds) {
      setSteady(false)
      return
    }
    const timer = setTimeout(() => setSteady(true), ms)
    return () => clearTimeout(timer)
  }, [holds, ms])
  return holds && isSteady
}
