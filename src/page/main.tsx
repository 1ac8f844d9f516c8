/** The page: starts it. */
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { createRoot } from 'react-dom/client'
import { queries } from './api/queries.ts'
import { router } from './app/router.tsx'
import { applyTheme } from './app/theme.ts'
import { listenToKeys } from './keys.ts'

applyTheme()
listenToKeys()
const place = document.getElementById('page')
if (place !== null)
  createRoot(place).render(
    <QueryClientProvider client={queries}>
      <RouterProvider router={router} />
    </QueryClientProvider>,
  )
