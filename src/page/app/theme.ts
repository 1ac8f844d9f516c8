/** Duty: light, dark, or as the system says. The choice is kept in this browser. */
import { useState } from 'react'

export type Theme = 'system' | 'light' | 'dark'
const themes: readonly Theme[] = ['system', 'light', 'dark']
const storedAs = 'troupe.theme'

export function applyTheme(theme: Theme = stored()): void {
  if (theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
}

function stored(): Theme {
  const text = localStorage.getItem(storedAs)
  return themes.find((theme) => theme === text) ?? 'system'
}

/** The theme, and a function that goes on to the next one. */
export function useTheme(): [theme: Theme, next: () => void] {
  const [theme, setTheme] = useState(stored)
  const next = () => {
    const chosen = themes[(themes.indexOf(theme) + 1) % themes.length] as Theme
    localStorage.setItem(storedAs, chosen)
    applyTheme(chosen)
    setTheme(chosen)
  }
  return [theme, next]
}
