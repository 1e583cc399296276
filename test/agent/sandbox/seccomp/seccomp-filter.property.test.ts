import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { encodeSeccompFilter } from '../../../../agent/src/sandbox/seccomp/seccomp-filter.ts'
import type { Architecture } from '../../../../agent/src/sandbox/seccomp/system-calls.ts'
import { casesOfRun, seedOfRun } from '../../../lanes/run-size.ts'
import { runFilter, type CallData } from './run-filter.ts'

/** The rules once more, with the numbers of each machine, from the manual pages. */
interface Machine {
  readonly architecture: Architecture
  readonly audit: number
  readonly unknown: readonly number[]
  readonly refused: readonly number[]
  readonly socket: number
  readonly socketpair: number
  readonly clone: number
  readonly ioctl: number
  readonly personality: number
}

const MACHINES: readonly Machine[] = [
  {
    architecture: 'x86_64',
    audit: 0xc000003e,
    unknown: [425, 426, 427, 435],
    // prettier-ignore
    refused: [
      103, 134, 155, 159, 161, 163, 164, 165, 166, 167, 168, 169, 172, 173, 175, 176, 179, 212,
      227, 246, 248, 249, 250, 272, 298, 300, 304, 305, 308, 313, 320, 321, 323, 428, 429, 430,
      431, 432, 433, 442, 443,
    ],
    socket: 41,
    socketpair: 53,
    clone: 56,
    ioctl: 16,
    personality: 135,
  },
  {
    architecture: 'aarch64',
    audit: 0xc00000b7,
    unknown: [425, 426, 427, 435],
    // prettier-ignore
    refused: [
      18, 39, 40, 41, 51, 60, 89, 97, 104, 105, 106, 112, 116, 142, 170, 171, 217, 218, 219, 224,
      225, 241, 262, 265, 266, 268, 273, 280, 282, 294, 428, 429, 430, 431, 432, 433, 442, 443,
    ],
    socket: 198,
    socketpair: 199,
    clone: 220,
    ioctl: 29,
    personality: 92,
  },
]

type Outcome = 'allow' | 'kill' | 'EPERM' | 'ENOSYS'

/** The outcome that the rules state for a call. */
function stateOutcome(machine: Machine, call: CallData): Outcome {
  const { nr } = call
  const isX32 = nr >= 2 ** 30 && nr !== 2 ** 32 - 1
  if (call.arch !== machine.audit) return 'kill'
  if (machine.architecture === 'x86_64' && isX32) return 'kill'
  if (nr > 466 || machine.unknown.includes(nr)) return 'ENOSYS'
  if (machine.refused.includes(nr)) return 'EPERM'
  return hasAllowedArguments(machine, call) ? 'allow' : 'EPERM'
}

function hasAllowedArguments(machine: Machine, call: CallData): boolean {
  const [first = 0, second = 0, third = 0] = call.args.map((each) => Number(each & 0xffff_ffffn))
  switch (call.nr) {
    case machine.socket:
      if (first === 16) return third === 0
      return [2, 10].includes(first) && isTcpOrUdp(second, third)
    case machine.socketpair:
      return first === 1 && [1, 5].includes(second % 16)
    case machine.clone:
      return [17, 25, 26, 27, 28, 29, 30].every((bit) => Math.floor(first / 2 ** bit) % 2 === 0)
    case machine.ioctl:
      return second !== 0x5412 && second !== 0x541c
    case machine.personality:
      return first === 0 || first === 2 ** 32 - 1
    default:
      return true
  }
}

function isTcpOrUdp(type: number, protocol: number): boolean {
  if (type % 16 === 1) return [0, 6].includes(protocol)
  return type % 16 === 2 && [0, 17].includes(protocol)
}

function describeAction(action: number): Outcome | number {
  if (action === 0x7fff_0000) return 'allow'
  if (action === 0x8000_0000) return 'kill'
  if (action === 0x5_0001) return 'EPERM'
  return action === 0x5_0026 ? 'ENOSYS' : action
}

/** Values near those that the rules name, with and without high bits, and any other. */
function argumentValues(): fc.Arbitrary<bigint> {
  const named = [0, 1, 2, 3, 5, 6, 10, 16, 17, 38, 40, 132, 0x5412, 0x541c, 0x80001, 0x80802]
  const low = fc.oneof(
    fc.constantFrom(...named, 0xffff_ffff),
    fc.integer({ min: 0, max: 31 }).map((bit) => 2 ** bit),
    fc.integer({ min: 0, max: 0xffff_ffff }),
  )
  const high = fc.constantFrom(0n, 0n, 1n, 0xffff_ffffn)
  return fc.tuple(low, high).map(([word, top]) => (top << 32n) | BigInt(word))
}

function callNumbers(machine: Machine): fc.Arbitrary<number> {
  const { socket, socketpair, clone, ioctl, personality } = machine
  return fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(socket, socketpair, clone, ioctl, personality) },
    { weight: 3, arbitrary: fc.integer({ min: 0, max: 600 }) },
    fc.constantFrom(2 ** 30 - 1, 2 ** 30, 2 ** 30 + socket, 2 ** 31, 2 ** 32 - 1),
    fc.integer({ min: 0, max: 2 ** 32 - 1 }),
  )
}

describe.each(MACHINES)('the seccomp filter on $architecture', (machine) => {
  it('≡ its rules', () => {
    const program = encodeSeccompFilter(machine.architecture)
    const calls = fc.record({
      arch: fc.oneof(
        { weight: 9, arbitrary: fc.constant(machine.audit) },
        fc.integer({ min: 0, max: 2 ** 32 - 1 }),
      ),
      nr: callNumbers(machine),
      args: fc.array(argumentValues(), { minLength: 6, maxLength: 6 }),
    })

    fc.assert(
      fc.property(calls, (call) => {
        const { action } = runFilter(program, call)
        expect(describeAction(action)).toBe(stateOutcome(machine, call))
      }),
      { seed: seedOfRun(), numRuns: casesOfRun(50_000) },
    )
  })

  it('≡ its rules for each number once', () => {
    const program = encodeSeccompFilter(machine.architecture)
    for (let nr = 0; nr < 1024; nr += 1) {
      const call = { arch: machine.audit, nr, args: Array<bigint>(6).fill(0n) }
      const { action } = runFilter(program, call)
      expect(describeAction(action), `call ${nr}`).toBe(stateOutcome(machine, call))
    }
  })
})
