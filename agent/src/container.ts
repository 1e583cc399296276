// Imported first: tsyringe throws on import without `Reflect.getMetadata`.
import '@abraham/reflection'
import { container as root, type DependencyContainer, type InjectionToken } from 'tsyringe'
import { join } from 'node:path'
import { createAgent, type Agent, type AgentEnvironment } from './agent.ts'
import {
  composeEnforcement,
  composeProber,
  DIAL_TIMEOUT_MS,
} from './composition/compose-enforcement.ts'
import { composeLocalApi } from './composition/compose-local-api.ts'
import { composeSync } from './composition/compose-sync.ts'
import { followGrants } from './grants/access/grant-states.ts'
import { createOnceGrants } from './grants/access/once-grants.ts'
import { createSpentGrants } from './grants/access/spent-grants.ts'
import { logStates, noteEvents } from './log-events.ts'
import { createActivePolicy } from './policy/decision/active-policy.ts'
import { createDecisionTally } from './policy/decision/decision-tally.ts'
import { controlPlane } from './policy/decision/offline.ts'
import { denyPolicies } from './policy/local-rules/deny-policies.ts'
import { createTrustedClock } from './policy/state/trusted-clock.ts'
import { createCanaries } from './probe/proxy/canaries.ts'
import { createProbeResults } from './probe/proxy/probe-results.ts'
import { createProxyAddress } from './proxy/proxy-address.ts'
import { createDial, type Dial } from './proxy/target/dial.ts'
import { createResolver, createServiceResolver, type Resolve } from './proxy/target/resolver.ts'
import { keepRecords } from './records/keep-records.ts'
import { uploadRecords } from './records/upload/upload-records.ts'

const RESOLVE_TIMEOUT_MS = 5_000

/** Network access of the proxy; tests may replace these parts. */
export const RESOLVE: InjectionToken<Resolve> = Symbol('Resolve')
export const DIAL: InjectionToken<Dial> = Symbol('Dial')

export function createParts({ config }: Pick<AgentEnvironment, 'config'>): DependencyContainer {
  const parts = root.createChildContainer()
  parts.register(RESOLVE, { useValue: createResolver(config.dnsServers, RESOLVE_TIMEOUT_MS) })
  parts.register(DIAL, { useValue: createDial(DIAL_TIMEOUT_MS) })
  return parts
}

/** Composes the agent. No resource is opened before `start`. */
export function createContainer(
  environment: AgentEnvironment,
  parts: DependencyContainer = createParts(environment),
): { readonly agent: Agent } {
  const { config, enrolment, localPolicies, localDenies, clock, uptime, random } = environment
  const { log, onError } = environment
  const { agentDir, socketPath, users } = config
  const resolve = parts.resolve(RESOLVE)
  const address = createProxyAddress()
  const canaries = createCanaries()
  const probes = createProbeResults({ clock, isShared: users === 'all' })

  const time = createTrustedClock({ wall: clock, uptime })
  const spent = createSpentGrants({ directory: join(agentDir, 'access'), now: time.now })
  const active = createActivePolicy({
    clock: time,
    machineAddresses: environment.machineAddresses,
    localPolicies: localPolicies.concat(denyPolicies(localDenies)),
    home: environment.home,
    controlPlane: controlPlane(enrolment.server),
    spentAmong: spent.among,
  })
  logStates(active, log)

  const sync = composeSync(environment, { time, active, probes })
  const once = createOnceGrants({ active, spent, onError })
  const grants = followGrants({ active, spent, log })
  const records = keepRecords({
    directory: join(agentDir, 'records'),
    enrolment,
    proxy: address.endpoint,
    now: time.now,
    uptime,
    random,
    log,
  })
  const { recorder, kept } = records
  const uploader = uploadRecords({
    active,
    kept,
    enrolment,
    fetchFile: sync.fetchFile,
    now: time.now,
    uptime,
    random,
    onError,
  })
  const tally = createDecisionTally()
  const onEvent = noteEvents({ recorder, tally, log, isProbe: canaries.isOwn })
  const enforcement = composeEnforcement(environment, {
    address,
    active,
    once,
    canaries,
    resolve,
    resolveServices: createServiceResolver(config.dnsServers, RESOLVE_TIMEOUT_MS),
    dial: parts.resolve(DIAL),
    recorder,
    onEvent,
  })
  const { localApi, sandboxes } = composeLocalApi(environment, {
    active,
    grants,
    sync,
    enforcement,
    records,
    tally,
    uploader,
    probes,
    resolve,
    onEvent,
  })
  const prober = composeProber(environment, {
    probed: enforcement.probed,
    canaries,
    sandboxes,
    results: probes,
    onChange: sync.reporter.notice,
  })
  const agent = createAgent({
    localApi,
    socketPath,
    users,
    points: enforcement.points,
    sandboxes,
    recorder,
    spent,
    synchronizer: sync.synchronizer,
    breakGlass: sync.breakGlass,
    poller: sync.poller,
    reporter: sync.reporter,
    uploader,
    hints: sync.hints,
    prober,
    active,
    uptime,
    onError,
    log,
  })
  return { agent }
}
