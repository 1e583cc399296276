import { join } from 'node:path'
import { rangeOf, type Range } from '../../measure/range.ts'
import { readBubblewrapWords } from '../raw-bubblewrap.ts'
import { sandboxPeers, type SandboxPeer } from '../peers/sandbox-peers.ts'
import { RUN, type SandboxMachine } from '../sandbox-machine.ts'
import { startStubAgent } from '../stub-agent.ts'
import { createTimedCommand, type TimedCommand } from '../timed-command.ts'

/** Milliseconds of one round, from each start to its exit. Null for a peer that is left out. */
export interface StartRound {
  /** `node -e 0`. */
  readonly node: number
  /** `palisade run true` that is answered at once and told to become `/bin/true`. */
  readonly client: number
  /** `palisade run true`. */
  readonly palisade: number
  /** Bubblewrap with the mounts and the namespaces of that sandbox, without its filter. */
  readonly bubblewrap: number
  readonly sandbox_runtime: number | null
  readonly mxc: number | null
}

export interface StartResult {
  readonly ms: Readonly<Record<keyof StartRound, Range | null>>
  /** `client` divided by `node`. */
  readonly client_ratio: Range
  /** `palisade` without `client`, divided by `bubblewrap`. */
  readonly bubblewrap_ratio: Range
  /** The whole command of the peer, divided by `palisade`. */
  readonly sandbox_runtime_ratio: Range | null
  readonly mxc_ratio: Range | null
  readonly rounds: number
  readonly left_out: readonly { readonly contender: string; readonly why: string }[]
}

/** Runs `true` in each kind of sandbox in alternation. */
export async function measureStart(
  machine: SandboxMachine,
  folder: string,
  count: number,
): Promise<StartResult> {
  const { empty, peers: cwd } = machine.workspaces
  const words = await readBubblewrapWords(machine)
  const stub = await startStubAgent(join(folder, 'stub'))
  const runs = (env: Readonly<Record<string, string>>): TimedCommand =>
    createTimedCommand(process.execPath, [...RUN, 'true'], { cwd: empty, env })
  const ours = {
    node: createTimedCommand(process.execPath, ['-e', '0'], { cwd, env: {} }),
    client: runs({ ...machine.env, PALISADE_AGENT_SOCKET: stub.socketPath }),
    bubblewrap: createTimedCommand('bwrap', [...words, '--', 'true'], { cwd, env: {} }),
    palisade: runs(machine.env),
  }
  const peers = sandboxPeers(folder, cwd, machine.proxyPort)
  const leftOut: { contender: string; why: string }[] = []
  const rounds: StartRound[] = []
  try {
    // Round 0 is discarded: the first start of each program reads its files from disk.
    for (let round = 0; round <= count; round += 1) {
      const others = await runPeers(peers, leftOut)
      rounds.push({
        node: await ours.node.once(),
        client: await ours.client.once(),
        bubblewrap: await ours.bubblewrap.once(),
        palisade: await ours.palisade.once(),
        ...others,
      })
      await machine.settled()
    }
  } finally {
    await stub.stop()
  }
  return { ...summarizeStart(rounds.slice(1)), left_out: leftOut }
}

/** Runs every peer that has not failed, and notes why one does. */
async function runPeers(
  peers: readonly SandboxPeer[],
  leftOut: { contender: string; why: string }[],
): Promise<Pick<StartRound, SandboxPeer['key']>> {
  const took: Record<SandboxPeer['key'], number | null> = { sandbox_runtime: null, mxc: null }
  for (const peer of peers) {
    if (leftOut.some(({ contender }) => contender === peer.name)) continue
    const outcome = peer.command === null ? peer.problem : await peer.command.tryOnce()
    if (typeof outcome === 'number') took[peer.key] = outcome
    else leftOut.push({ contender: peer.name, why: outcome })
  }
  return took
}

/** Divides within each round, so that other load on the machine affects both sides. */
export function summarizeStart(rounds: readonly StartRound[]): Omit<StartResult, 'left_out'> {
  const ms = (key: keyof StartRound): Range | null => rangeOrNull(rounds.map((round) => round[key]))
  const toPalisade = (key: 'sandbox_runtime' | 'mxc'): Range | null =>
    rangeOrNull(
      rounds.map((round) => {
        const peer = round[key]
        return peer === null ? null : peer / round.palisade
      }),
    )
  return {
    ms: {
      node: ms('node'),
      client: ms('client'),
      palisade: ms('palisade'),
      bubblewrap: ms('bubblewrap'),
      sandbox_runtime: ms('sandbox_runtime'),
      mxc: ms('mxc'),
    },
    client_ratio: rangeOf(rounds.map(({ client, node }) => client / node)),
    bubblewrap_ratio: rangeOf(
      rounds.map(({ palisade, client, bubblewrap }) => (palisade - client) / bubblewrap),
    ),
    sandbox_runtime_ratio: toPalisade('sandbox_runtime'),
    mxc_ratio: toPalisade('mxc'),
    rounds: rounds.length,
  }
}

/** Null unless every round has a value. */
function rangeOrNull(values: readonly (number | null)[]): Range | null {
  const present = values.filter((value) => value !== null)
  return present.length === values.length && present.length > 0 ? rangeOf(present) : null
}
