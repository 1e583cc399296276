import { expect, it } from 'vitest'
import { createTimeKeeper } from '../../../../agent/src/policy/state/trusted-clock.ts'

it('keeps the time at most every ten minutes, and continues after a failure', async () => {
  let [uptimeMs, kept] = [0, 0]
  const errors: unknown[] = []
  const keepTime = createTimeKeeper({
    keep: async () => {
      kept += 1
      if (kept === 1) throw new Error('ENOSPC')
    },
    uptime: () => uptimeMs,
    hasExpiry: () => false,
    onError: (error) => errors.push(error),
  })

  for (; uptimeMs < 60 * 60_000; uptimeMs += 30_000) keepTime()
  await Promise.resolve()

  expect(kept).toBe(5)
  expect(errors).toHaveLength(1)
})

it('keeps the time every minute while something is to end by it', async () => {
  let [uptimeMs, kept] = [0, 0]
  const keepTime = createTimeKeeper({
    keep: async () => void (kept += 1),
    uptime: () => uptimeMs,
    hasExpiry: () => uptimeMs < 10 * 60_000,
    onError: () => {},
  })

  for (; uptimeMs <= 30 * 60_000; uptimeMs += 30_000) keepTime()

  expect(kept).toBe(9 + 2)
})
