import { describe, expect, it } from 'vitest'
import { startSuggestWorker } from '../../../../server/src/evidence/suggest/suggest-worker-client.ts'
import { startBundle } from '../../started-thread.ts'
import { denied, NOW_MS, optionsOf, organizationOf } from './recorded.ts'

const { policies, teams, members } = organizationOf({ backend: ['ann', 'ben'] })

describe('the worker that suggests', () => {
  it('answers after all parts', async () => {
    const worker = startSuggestWorker({ startWorker: startBundle })

    worker.send('requests', [denied('a.example.com', ['ann'])])
    worker.send('requests', [denied('a.example.com', ['ben'])])
    worker.send('policies', policies)
    worker.send('people', { teams, members })
    worker.send('rules', { rules: optionsOf(), now: NOW_MS })
    const { suggestions, examined } = await worker.answer()
    await worker.stop()

    expect(suggestions).toMatchObject([{ resource: 'a.example.com:443', teams: ['backend'] }])
    expect(examined).toEqual({ decisions: 20, devices: 2, targets: 1 })
  })

  it('is ended when it takes too long, and the caller learns of it', async () => {
    const worker = startSuggestWorker({ startWorker: startBundle, timeLimitMs: 1 })

    const answer = worker.answer()

    await expect(answer).rejects.toMatchObject({ status: 403, code: 'limit_exceeded' })
    await worker.stop()
  })

  it('gives its place to the next caller when its own has gone', async () => {
    const worker = startSuggestWorker({ startWorker: startBundle })
    let isGone = false

    const answer = worker.answer(() => isGone)
    isGone = true

    await expect(answer).rejects.toThrow('the caller has gone')
    await worker.stop()
  })

  it('fails for policies that do not compile', async () => {
    const worker = startSuggestWorker({ startWorker: startBundle })
    const rule = {
      id: 'r',
      name: 'r',
      actions: ['read'],
      decision: 'allow',
      resources: ['x'],
    } as const

    worker.send('requests', [denied('a.example.com', ['ann'])])
    worker.send('policies', [{ id: 'p', name: 'p', allowlist_v0: { rules: [rule] } }])
    worker.send('people', { teams, members })
    worker.send('rules', { rules: optionsOf(), now: NOW_MS })

    await expect(worker.answer()).rejects.toThrow('the suggestions failed')
    await worker.stop()
  })
})
