import { expect, it } from 'vitest'
import { createTimeKeeper } from '../../../agent/src/state/trusted-clock.ts'

it('keeps the time at most every ten minutes, and continues after a failure', async () => {
  let [uptimeMs, kept] = [0, 0]
  const errors: unknown[] = []
  const keepTime = createTimeKeeper({
    keep: async () => {
      kept += 1
      if (kept === 1) throw new Error('ENOSPC')
    },
    uptime: () => uptimeMs,
    onError: (error) => errors.push(error),
  })

  for (; uptimeMs < 60 * 60_000; uptimeMs += 30_000) keepTime()
  await Promise.resolve()

  expect(kept).toBe(5)
  expect(errors).toHaveLength(1)
})
