import type { ProbeResult } from '@palisade/protocol'
import { describe, expect, it } from 'vitest'
import { assess, MAX_PROBE_AGE_MS } from '../../../agent/src/enforcement/assurance.ts'
import { NOW_MS } from '../fixture/bundle.ts'

const resultAt = (ms: number, ok: boolean): ProbeResult => ({
  at: new Date(ms).toISOString(),
  ok,
  detail: 'detail',
})
const held = resultAt(NOW_MS, true)
const failed = resultAt(NOW_MS, false)
const old = resultAt(NOW_MS - MAX_PROBE_AGE_MS - 1, true)

describe('the assurance class', () => {
  it.each([
    [{ proxy: null, sandbox: null, strict: null }, 'decisions-only', 'the proxy was not tried yet'],
    [
      { proxy: failed, sandbox: held, strict: held },
      'decisions-only',
      'the proxy failed its self-probe: detail',
    ],
    [
      { proxy: old, sandbox: held, strict: held },
      'decisions-only',
      'the last self-probe of the proxy is too old',
    ],
    [{ proxy: held, sandbox: null, strict: null }, 'proxy-only', 'a sandbox was not tried yet'],
    [
      { proxy: held, sandbox: failed, strict: held },
      'proxy-only',
      'a sandbox failed its self-probe: detail',
    ],
    [
      { proxy: held, sandbox: old, strict: held },
      'proxy-only',
      'the last self-probe of a sandbox is too old',
    ],
    [
      { proxy: held, sandbox: held, strict: null },
      'linux-sandbox',
      'a strict sandbox was not tried yet',
    ],
    [
      { proxy: held, sandbox: held, strict: failed },
      'linux-sandbox',
      'a strict sandbox failed its self-probe: detail',
    ],
    [{ proxy: held, sandbox: held, strict: held }, 'linux-strict', null],
  ])('of %j is %s', (results, name, reason) => {
    expect(assess(results, { nowMs: NOW_MS, isShared: false })).toEqual({ class: name, reason })
  })

  it('falls with the age of a probe, also when the clock was set back', () => {
    const results = { proxy: held, sandbox: held, strict: null }

    expect(assess(results, { nowMs: NOW_MS + MAX_PROBE_AGE_MS, isShared: false }).class).toBe(
      'linux-sandbox',
    )
    expect(assess(results, { nowMs: NOW_MS + MAX_PROBE_AGE_MS + 1, isShared: false }).class).toBe(
      'decisions-only',
    )
    expect(assess(results, { nowMs: NOW_MS - MAX_PROBE_AGE_MS - 1, isShared: false }).class).toBe(
      'decisions-only',
    )
  })

  it('is at most proxy-only for an agent that all users share', () => {
    const results = { proxy: held, sandbox: held, strict: held }

    expect(assess(results, { nowMs: NOW_MS, isShared: true })).toEqual({
      class: 'proxy-only',
      reason: 'an agent for all users makes no sandboxes',
    })
  })

  it('falls for a result without a valid time', () => {
    const broken = { at: '', ok: true, detail: '' }

    expect(
      assess({ proxy: broken, sandbox: held, strict: null }, { nowMs: NOW_MS, isShared: false })
        .class,
    ).toBe('decisions-only')
  })
})
