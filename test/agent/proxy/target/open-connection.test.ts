import { runSteps } from '@palisade/policy-core'
import { Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { createDial } from '../../../../agent/src/proxy/target/dial.ts'
import { createLiveConnections } from '../../../../agent/src/proxy/admission/live-connections.ts'
import { openConnection, type Opening } from '../../../../agent/src/proxy/target/open-connection.ts'
import { activePolicy } from '../../fixture/active-policy.ts'
import { bundleOf, type RuleLine } from '../../fixture/bundle.ts'
import { startTcpServer } from '../../fixture/proxy.ts'

const dial = createDial(60_000)
const never = new AbortController().signal

/** Opens a connection to an allowed address and calls `meanwhile` at each dial. */
async function openWhile(
  meanwhile: (change: (...rules: readonly RuleLine[]) => void, address: string) => void,
): Promise<{ opening: Opening; sockets: Socket[]; dialled: string[] }> {
  const port = await startTcpServer(() => {})
  const { active, use } = activePolicy()
  use(bundleOf(['allow', 'connect:tcp', '127.0.0.1', '127.0.0.2', '*.a.test']))
  const live = createLiveConnections((request) => active.decide(request), 10)
  active.subscribe(() => void runSteps(live.recheck()))
  const sockets: Socket[] = []
  const dialled: string[] = []
  const slot = live.enter(new Socket())
  if (slot === null) throw new Error('no slot')
  const opening = await openConnection(
    {
      decide: (request) => active.decide(request),
      resolve: async () => ['127.0.0.2', '127.0.0.1'],
      dial: async (address, targetPort, signal) => {
        dialled.push(address)
        const connecting = dial(address, targetPort, signal)
        meanwhile((...rules) => use({ ...bundleOf(...rules), revision: 8 }), address)
        const socket = await connecting
        sockets.push(socket)
        return socket
      },
    },
    { host: 'x.a.test', port },
    slot,
    never,
  )
  return { opening, sockets, dialled }
}

describe('openConnection', () => {
  it('dials the permitted addresses in order until one is reached', async () => {
    const { opening, sockets, dialled } = await openWhile(() => {})

    expect(opening).toMatchObject({
      kind: 'open',
      address: '127.0.0.1',
      decision: { decision: 'allow' },
    })
    expect(dialled).toEqual(['127.0.0.2', '127.0.0.1'])
    sockets[0]?.destroy()
  })

  it('obeys a policy that came into force during the dial', async () => {
    const { opening, sockets } = await openWhile((change, address) => {
      if (address === '127.0.0.1') change()
    })

    expect(opening).toMatchObject({ kind: 'refused', decision: { decision: 'deny', revision: 8 } })
    expect(sockets[0]?.destroyed).toBe(true)
  })

  it('does not dial an address that a new policy denies', async () => {
    const { opening, sockets, dialled } = await openWhile((change) =>
      change(['allow', 'connect:tcp', '*.a.test'], ['deny', 'connect:tcp', '127.0.0.1']),
    )

    expect(dialled).toEqual(['127.0.0.2'])
    expect(sockets).toEqual([])
    expect(opening).toMatchObject({
      kind: 'refused',
      decision: { decision: 'deny', request: { address: '127.0.0.1' }, revision: 8 },
    })
  })

  it('tries an address that a new policy still allows', async () => {
    const { opening, sockets, dialled } = await openWhile((change) =>
      change(['allow', 'connect:tcp', '127.0.0.1'], ['deny', 'connect:tcp', '127.0.0.2']),
    )

    expect(dialled).toEqual(['127.0.0.2', '127.0.0.1'])
    expect(opening).toMatchObject({ kind: 'open', decision: { revision: 8 } })
    sockets[0]?.destroy()
  })
})

describe('openConnection to addresses of both families', () => {
  /** Opens a connection where `dialTo` stands for the network. */
  async function openBoth(
    dialTo: (address: string, signal: AbortSignal) => Promise<Socket>,
    rules: readonly RuleLine[] = [['allow', 'connect:tcp', '*.a.test']],
    signal = never,
  ) {
    const { active, use } = activePolicy()
    use(bundleOf(...rules))
    const live = createLiveConnections((request) => active.decide(request), 10)
    const slot = live.enter(new Socket())
    if (slot === null) throw new Error('no slot')
    const dialled: string[] = []
    const opening = await openConnection(
      {
        decide: (request) => active.decide(request),
        resolve: async () => ['192.0.2.1', '192.0.2.2', '2001:db8::1', '2001:db8::2'],
        dial: (address, _port, each) => {
          dialled.push(address)
          return dialTo(address, each)
        },
      },
      { host: 'x.a.test', port: 443 },
      slot,
      signal,
    )
    const connect = (rule: RuleLine): Promise<void> => {
      use({ ...bundleOf(rule), revision: 8 })
      return runSteps(live.recheck()) === 1 ? Promise.resolve() : Promise.reject(new Error('open'))
    }
    return { opening, dialled, connect }
  }

  const hang = (signal: AbortSignal): Promise<Socket> =>
    new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(new Error('aborted')))
    })

  it('goes on to the other family while the first hangs, and ends the loser', async () => {
    const ended: string[] = []
    const socket = new Socket()

    const { opening, dialled } = await openBoth((address, signal) => {
      signal.addEventListener('abort', () => ended.push(address))
      return address === '192.0.2.1' ? Promise.resolve(socket) : hang(signal)
    })

    expect(opening).toMatchObject({ kind: 'open', address: '192.0.2.1', socket })
    expect(dialled).toEqual(['2001:db8::1', '192.0.2.1'])
    expect(ended).toContain('2001:db8::1')
    expect(socket.destroyed).toBe(false)
  })

  it('keeps one of two sockets that connect in the same turn', async () => {
    const sockets: Socket[] = []
    const both = Promise.withResolvers<void>()

    const { opening, connect } = await openBoth(async (address) => {
      if (address === '192.0.2.1') both.resolve()
      await both.promise
      const socket = new Socket()
      sockets.push(socket)
      return socket
    })

    expect(opening).toMatchObject({ kind: 'open', address: '2001:db8::1' })
    expect(sockets.map((socket) => socket.destroyed)).toEqual([false, true])
    await connect(['deny', 'connect:tcp', '2001:db8::1'])
    expect(sockets[0]?.destroyed).toBe(true)
  })

  it('never dials a denied address', async () => {
    const { opening, dialled } = await openBoth(
      () => Promise.reject(new Error('refused')),
      [
        ['allow', 'connect:tcp', '*.a.test'],
        ['deny', 'connect:tcp', '192.0.2.1', '2001:db8::1'],
      ],
    )

    expect(dialled).toEqual(['2001:db8::2', '192.0.2.2'])
    expect(opening).toEqual({ kind: 'failed', reason: 'dial_failed' })
  })

  it('ends all attempts of a client that leaves', async () => {
    const gone = new AbortController()

    const { opening } = await openBoth(
      (address, signal) => {
        if (address === '192.0.2.1') gone.abort()
        return signal.aborted ? Promise.reject(new Error('aborted')) : hang(signal)
      },
      undefined,
      gone.signal,
    )

    expect(opening).toEqual({ kind: 'failed', reason: 'cancelled' })
  })
})

describe('dial', () => {
  it('connects to exactly the address, without a lookup', async () => {
    const port = await startTcpServer(() => {}, '127.0.0.2')

    const socket = await dial('127.0.0.2', port, never)

    expect(socket.remoteAddress).toBe('127.0.0.2')
    socket.destroy()
    await expect(dial('localhost', port, never)).rejects.toThrow('an address was looked up')
  })

  it('refuses a connection that reached another address', async () => {
    const port = await startTcpServer(() => {})

    await expect(dial('0.0.0.0', port, never)).rejects.toThrow('not to 0.0.0.0')
  })

  it('ends when it is cancelled', async () => {
    const gone = new AbortController()
    gone.abort()

    await expect(dial('127.0.0.1', 1, gone.signal)).rejects.toThrow('cancelled')
  })
})
