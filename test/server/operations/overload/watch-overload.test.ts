import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createLog } from '../../../../server/src/operations/log/create-log.ts'
import { createOverload } from '../../../../server/src/operations/overload/overload.ts'
import {
  createOverloadLog,
  watchOverload,
} from '../../../../server/src/operations/overload/watch-overload.ts'

const LIMIT_MS = 250

describe('the log of an overloaded server', () => {
  it('reports the start, each minute, and the end', () => {
    const overload = createOverload({ limitMs: LIMIT_MS, random: () => 0 })
    const lines: unknown[][] = []
    const write = (...line: unknown[]): void => void lines.push(line)
    const tell = createOverloadLog(overload, { warn: write, info: write })
    const second = (nowMs: number, delayMs: number): void => {
      overload.note(delayMs)
      overload.askToWait('begins')
      tell(nowMs)
    }

    for (let nowMs = 0; nowMs < 5000; nowMs += 1000) second(nowMs, 1)
    expect(lines).toEqual([])

    overload.note(400)
    for (let nowMs = 5000; nowMs <= 65_000; nowMs += 1000) second(nowMs, 400)
    const warning = 'overloaded: machines are asked to wait'
    expect(lines).toEqual([
      [{ share: 0.1, delay_ms: 400, turned_away: 1 }, warning],
      [{ share: 1, delay_ms: 400, turned_away: 60 }, warning],
    ])

    for (let nowMs = 66_000; nowMs < 125_000; nowMs += 1000) second(nowMs, 1)
    expect(lines.slice(2)).toEqual([
      [{ share: 0, delay_ms: 1, turned_away: 19 }, 'machines are no longer asked to wait'],
    ])
  })
})

describe('the watch of the event loop', () => {
  const log = createLog(false)

  it('notices that turns are long, and that they are short again', async () => {
    const { overload, stop } = watchOverload({ limitMs: 200, log, random: () => 0 })
    onTestFinished(stop)

    while (overload.share() === 0) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500)
      await sleep(1)
    }
    expect(overload.delayMs()).toBeGreaterThan(200)
    expect(overload.askToWait('begins')).not.toBeNull()

    while (overload.share() > 0) await sleep(100)
    expect(overload.askToWait('begins')).toBeNull()
  })

  it('measures nothing without a limit', () => {
    const { overload } = watchOverload({ limitMs: 0, log, random: () => 0 })

    overload.note(1e9)

    expect(overload.askToWait('begins')).toBeNull()
  })
})
