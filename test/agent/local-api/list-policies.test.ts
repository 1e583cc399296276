import { createAgentClient } from '@palisade/client'
import type { PolicyListLine } from '@palisade/protocol'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { joinLines } from '../../../agent/src/local-api/join-lines.ts'
import { listPolicies } from '../../../agent/src/local-api/list-policies.ts'
import { streamAnswer } from '../../../agent/src/http/stream-answer.ts'
import { activePolicy } from '../fixture/active-policy.ts'
import { bundleClaims, bundleOf, hoursFromNow, policyOf } from '../fixture/bundle.ts'
import { temporaryDirectory } from '../fixture/temporary-directory.ts'

const LOCAL = policyOf(['allow', 'read', '/mine/**'], ['deny', 'read', '/data/secret'])

async function serve(lines: () => Iterable<unknown>, stallMs = 60_000): Promise<string> {
  const socketPath = join(await temporaryDirectory(), 'agent.sock')
  const server = createServer(
    (request, response) =>
      void streamAnswer(response, request.socket, () => joinLines(lines()), stallMs),
  )
  server.listen(socketPath)
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return socketPath
}

async function read(socketPath: string): Promise<PolicyListLine[]> {
  const lines: PolicyListLine[] = []
  for await (const line of createAgentClient({ socketPath }).policies()) lines.push(line)
  return lines
}

describe('the list of policies', () => {
  it('names each rule of both origins, and why a local allow does not count', () => {
    const { active, use } = activePolicy({ local: [LOCAL] })
    use(bundleOf(['allow', 'read', '/data/**'], ['deny', 'read', '/etc/**']))

    const [head, ...rules] = [...listPolicies(active)]

    expect(head).toEqual({
      kind: 'head',
      state: 'fresh',
      revision: 7,
      stale: false,
      offline_allow: [],
      rules: 4,
    })
    expect(rules).toMatchObject([
      { origin: 'org', rule_name: 'Rule 1', decision: 'allow', active: true },
      { origin: 'org', rule_name: 'Rule 2', decision: 'deny', active: true },
      { origin: 'local', decision: 'allow', active: false, inactive_reason: 'governed' },
      { origin: 'local', decision: 'deny', resources: ['/data/secret'], active: true },
    ])
    expect(rules[0]).not.toHaveProperty('inactive_reason')
  })

  it('has no rules without a policy in force', () => {
    const { active } = activePolicy({ local: [LOCAL] })

    expect([...listPolicies(active)]).toMatchObject([
      { state: 'never_loaded', revision: null, rules: 0 },
    ])
  })

  it('shows allows of expired policies as inactive, and denies as active', () => {
    const { active, use, surroundings } = activePolicy()
    const settings = { resolve_unlisted_names: false, offline_allow: ['example.com'] }
    use(
      bundleClaims({
        settings,
        policies: [policyOf(['allow', 'read', '/a'], ['deny', 'read', '/b'])],
      }),
    )
    surroundings.nowMs = Date.parse(hoursFromNow(200))

    expect([...listPolicies(active)]).toMatchObject([
      { state: 'expired', stale: true, offline_allow: ['example.com'] },
      { decision: 'allow', active: false, inactive_reason: 'policy_expired' },
      { decision: 'deny', active: true },
    ])
  })

  it('shows every allow as inactive while two organizations claim the machine', () => {
    const { active, use } = activePolicy()
    use(bundleOf(['allow', 'read', '/a'], ['deny', 'read', '/b']))
    active.apply({ kind: 'second_enrolment' })

    expect([...listPolicies(active)].slice(1)).toMatchObject([
      { active: false, inactive_reason: 'conflict' },
      { active: true },
    ])
  })

  it('reaches a client whole, when it is larger than every buffer', async () => {
    const { active, use } = activePolicy()
    const long = `/${'x'.repeat(200)}`
    const rules = Array.from({ length: 25_000 }, (_, index) => {
      return ['allow', 'read', `${long}/${index}`] as const
    })
    use(bundleOf(...rules))

    const lines = await read(await serve(() => listPolicies(active)))

    expect(lines).toHaveLength(25_001)
    expect(lines.at(-1)).toMatchObject({ resources: [`${long}/24999`] })
  })

  it('is refused by the client when it breaks off', async () => {
    const { active, use } = activePolicy()
    use(bundleOf(['allow', 'read', '/a']))
    function* broken(): Generator {
      yield* listPolicies(active)
      for (let index = 0; index < 1_000; index += 1) yield { kind: 'rule', index }
    }

    await expect(read(await serve(broken))).rejects.toMatchObject({ code: 'ERR_UNEXPECTED_ANSWER' })
  })

  it('disconnects a caller that stops reading', async () => {
    const { promise: givenUp, resolve: giveUp } = Promise.withResolvers<void>()
    function* endless(): Generator {
      try {
        for (;;) yield 'x'.repeat(1_000)
      } finally {
        giveUp()
      }
    }
    const socket = connect(await serve(endless, 50))
    await once(socket, 'connect')
    socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
    socket.pause()
    await givenUp

    socket.resume()
    await once(socket, 'close')
    expect(socket.destroyed).toBe(true)
  })
})
