import {
  answer,
  encodeInstructions,
  keepBits,
  load,
  whenAnyBit,
  whenAtLeast,
  whenEqual,
  type Block,
} from './instruction.ts'
import { ENOSYS, EPERM, REFUSALS } from './refusals.ts'
import {
  NEWEST_CALL,
  systemCallNumber,
  type Architecture,
  type SystemCall,
} from './system-calls.ts'

const ALLOW = answer(0x7fff_0000)
const KILL = answer(0x8000_0000)
const ERRNO = 0x0005_0000
const REFUSE = answer(ERRNO | EPERM)
const NOT_THERE = answer(ERRNO | ENOSYS)

/** `AUDIT_ARCH_…` of linux/audit.h */
const MACHINES: Readonly<Record<Architecture, number>> = {
  x86_64: 0xc000_003e,
  aarch64: 0xc000_00b7,
}
/** Numbers from here on are calls of x32, each a second name of a call of x86_64. */
const X32 = 0x4000_0000
/** A tracer sets it to skip a call. */
const NO_CALL = 0xffff_ffff

/** Offsets in `struct seccomp_data` of linux/seccomp.h */
const NUMBER = 0
const MACHINE = 4
/**
 * The low half of an argument. The kernel reads only this half of the arguments that are examined
 * here, so comparing all 64 bits would let a high bit hide a value.
 */
const ARGUMENT = [16, 24, 32] as const

const AF = { unix: 1, inet: 2, inet6: 10, netlink: 16 } as const
const SOCK = { stream: 1, dgram: 2, seqpacket: 5 } as const
/** The other bits are `SOCK_NONBLOCK` and `SOCK_CLOEXEC`. */
const SOCK_TYPE_MASK = 0xf
const DEFAULT_PROTOCOL = 0
const IPPROTO = { tcp: 6, udp: 17 } as const
const NETLINK_ROUTE = 0
/** All `CLONE_NEW…` flags of linux/sched.h that `clone` takes. */
const NEW_NAMESPACE = 0x7e02_0000
/** Both put characters into the input of a terminal, which a shell outside then reads. */
const TERMINAL_INJECTION = { TIOCSTI: 0x5412, TIOCLINUX: 0x541c } as const
const LINUX_PERSONALITY = 0
const PERSONALITY_QUERY = 0xffff_ffff

/**
 * The seccomp program of a sandbox, as the bytes that `bwrap --seccomp` reads. Every call is
 * allowed that is not refused: the namespaces are the boundary, and the filter closes the ways that
 * they leave open and parts of the kernel that no program needs.
 */
export function encodeSeccompFilter(architecture: Architecture): Buffer {
  const program = [
    load(MACHINE),
    // A program of another machine has other numbers, so they would be compared with wrong ones.
    ...whenEqual([MACHINES[architecture]], filterCalls(architecture)),
    KILL,
  ]
  return encodeInstructions(program)
}

function filterCalls(architecture: Architecture): Block {
  const whenCall = (calls: readonly SystemCall[], then: Block): Block => {
    const numbers = calls.map((call) => systemCallNumber(call, architecture))
    return whenEqual(
      numbers.filter((number) => number !== null),
      then,
    )
  }
  return [
    load(NUMBER),
    ...whenEqual([NO_CALL], [NOT_THERE]),
    ...(architecture === 'x86_64' ? whenAtLeast(X32, [KILL]) : []),
    ...whenAtLeast(NEWEST_CALL + 1, [NOT_THERE]),
    ...REFUSALS.flatMap(({ calls, errno }) => whenCall(calls, [answer(ERRNO | errno)])),
    ...whenCall(['socket'], filterSocket()),
    ...whenCall(['socketpair'], filterPair()),
    ...whenCall(['clone'], [load(ARGUMENT[0]), ...whenAnyBit(NEW_NAMESPACE, [REFUSE]), ALLOW]),
    ...whenCall(
      ['ioctl'],
      [load(ARGUMENT[1]), ...whenEqual(Object.values(TERMINAL_INJECTION), [REFUSE]), ALLOW],
    ),
    ...whenCall(['personality'], allowOnly(0, [LINUX_PERSONALITY, PERSONALITY_QUERY])),
    ALLOW,
  ]
}

/**
 * The transparent capture sees TCP and UDP only. A raw or packet socket, another protocol and
 * another family (VSOCK, ALG, BLUETOOTH, …) would pass beside it. A Unix socket would reach every
 * socket file of the view, those of a workspace included, and be reached by its own.
 */
function filterSocket(): Block {
  const internet = [
    load(ARGUMENT[1]),
    keepBits(SOCK_TYPE_MASK),
    ...whenEqual([SOCK.stream], allowOnly(2, [DEFAULT_PROTOCOL, IPPROTO.tcp])),
    ...whenEqual([SOCK.dgram], allowOnly(2, [DEFAULT_PROTOCOL, IPPROTO.udp])),
    REFUSE,
  ]
  return [
    load(ARGUMENT[0]),
    ...whenEqual([AF.inet, AF.inet6], internet),
    // libc lists addresses by it.
    ...whenEqual([AF.netlink], allowOnly(2, [NETLINK_ROUTE])),
    REFUSE,
  ]
}

/**
 * Datagrams are refused, and `SOCK_RAW`, which makes them too: the kernel sends from such a pair to
 * any path, connects it again and passes descriptors by it (unix(7)). A pair of the other types
 * reaches its other end alone, and one that is bound to a path accepts no connection.
 */
function filterPair(): Block {
  const unix = [
    load(ARGUMENT[1]),
    keepBits(SOCK_TYPE_MASK),
    ...whenEqual([SOCK.stream, SOCK.seqpacket], [ALLOW]),
    REFUSE,
  ]
  return [load(ARGUMENT[0]), ...whenEqual([AF.unix], unix), REFUSE]
}

/** Allows a call if an argument has one of the values. */
function allowOnly(argument: 0 | 1 | 2, values: readonly number[]): Block {
  return [load(ARGUMENT[argument]), ...whenEqual(values, [ALLOW]), REFUSE]
}
