import { NETWORK_ACTIONS } from '@palisade/policy-core'
import type { MachineDecision } from '../../../policy/decision/active-policy.ts'
import { parseTargetHost } from '../../../proxy/target/authority.ts'
import { parseService, type AnswerService } from './answer-service.ts'
import type { NameTable } from './name-table.ts'
import { RCODE, readQuery, type Query, type Rcode } from './query.ts'
import { formatReply, TYPE } from './reply.ts'

/** Port of the recorded denial: no port of the name is allowed, and people know this one. */
const RECORDED_PORT = 443

/** Null where no reply is sent. */
export type Reply = Buffer | Promise<Buffer> | null

export interface AnswerDeps {
  readonly decide: (request: unknown) => MachineDecision
  /** Ports that stand for all ports of a canonical name. */
  readonly portsOf: (name: string) => readonly number[]
  readonly names: NameTable
  /** Called for each refused name. */
  readonly onDenial: (decision: MachineDecision) => void
  readonly answerService: AnswerService
}

/**
 * Answers a query out of the policy and the name table. A name is resolved when a connection to it
 * is decided, so no query leaves the machine, but for services of an allowed host.
 *
 * - A name that the policy allows on some port has one synthetic IPv4 address, and no other record.
 * - `localhost`, and each name below it, is the loopback of the sandbox (RFC 6761 §6.3).
 * - A service of such a name (`_mongodb._tcp.NAME`, type SRV) has the targets that policy allows.
 * - Any other name does not exist. Programs ask again for a name that is refused.
 *
 * Returns null for a packet that gets no answer.
 */
export function answerQuery(deps: AnswerDeps, packet: Buffer): Reply {
  const read = readQuery(packet)
  if (read.kind === 'ignored') return null
  if (read.kind === 'refused') return formatReply(read.head, read.rcode)
  const service = read.type === TYPE.srv ? parseService((read.name ?? '').toLowerCase()) : null
  const host = service === null ? null : parseTargetHost(service.host)
  if (service !== null && host?.kind === 'name' && findDenial(deps, host.name) === null)
    return deps.answerService(
      read.head,
      service,
      (action, { name, port }) => {
        const decision = deps.decide({ action, host: name, port })
        return isOpen(decision) ? null : decision
      },
      deps.onDenial,
    )
  const data = findData(deps, read)
  if (typeof data === 'number') return formatReply(read.head, data)
  return formatReply(read.head, RCODE.noError, data.length === 0 ? [] : [{ type: read.type, data }])
}

/** Bytes of an address, empty where the name has no record of this type, or a failure. */
type Data = readonly number[] | Rcode

function findData(deps: AnswerDeps, { name, type }: Query): Data {
  const asked = name ?? ''
  const host = parseTargetHost(asked)
  const canonical = host?.kind === 'name' ? host.name : null
  if (canonical !== null && isLocalhost(canonical)) return findLoopback(type)
  const denial = findDenial(deps, canonical ?? asked)
  if (denial !== null) deps.onDenial(denial)
  if (denial !== null || canonical === null) return RCODE.noName
  return type === TYPE.a || type === TYPE.aaaa ? findSynthetic(deps.names, canonical, type) : []
}

function findLoopback(type: number): Data {
  if (type === TYPE.a) return LOOPBACK
  return type === TYPE.aaaa ? LOOPBACK_IPV6 : []
}

/** A name whose address cannot be handed out has no address of the other family either. */
function findSynthetic(names: NameTable, name: string, type: number): Data {
  const address = names.addressOf(name)
  if (address === null) return RCODE.refused
  return type === TYPE.a ? address.split('.').map(Number) : []
}

const LOOPBACK: readonly number[] = [127, 0, 0, 1]
const LOOPBACK_IPV6: readonly number[] = [...Array.from({ length: 15 }, () => 0), 1]

function isLocalhost(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost')
}

/** Null for a host that some port may be allowed of, once its address is known. */
function findDenial({ decide, portsOf }: AnswerDeps, host: string): MachineDecision | null {
  const recorded = decide({ action: 'connect:tcp', host, port: RECORDED_PORT })
  if (isOpen(recorded)) return null
  for (const port of portsOf(host))
    for (const action of NETWORK_ACTIONS) if (isOpen(decide({ action, host, port }))) return null
  return recorded
}

function isOpen({ decision, address_required }: MachineDecision): boolean {
  return decision === 'allow' || address_required === true
}
