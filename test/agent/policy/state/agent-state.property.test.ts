import { runSteps } from '@palisade/policy-core'
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import type { PolicyEvent } from '../../../../agent/src/policy/decision/active-policy.ts'
import type { CompiledBundle } from '../../../../agent/src/policy/decision/compile-bundle.ts'
import { casesOfRun, seedOfRun } from '../../../lanes/run-size.ts'
import { activePolicy } from '../../fixture/active-policy.ts'
import { bundleClaims, NOW_MS, policyOf, type RuleLine } from '../../fixture/bundle.ts'

const RUNS = 250
const HOUR_MS = 3_600_000
const YEAR_HOURS = 365 * 24
const HOSTS = ['a.test', 'b.test', 'c.test', 'control.test']
const EVERYTHING = [...HOSTS, '/data', '/other']

/** Content of a signed bundle. */
interface Drawn {
  readonly allow: readonly string[]
  readonly deny: readonly string[]
  readonly offline: readonly string[]
  /** Time since its issue. */
  readonly age: number
  readonly freshHours: number
  readonly expiresHours: number
}

/** The expected enforcement by the true time and the newest verified bundle; it has no states. */
interface Model {
  newest: (Drawn & { readonly expiresMs: number }) | 'nothing' | 'damaged' | 'unreadable'
  trueMs: number
  /** After a fast clock the machine may take its bundle for older than it is. */
  hasBeenAhead: boolean
  /** After a wrong clock the machine's time may be late by the life of an issue. */
  lateMs: number
  hasBeenWrong: boolean
  isGranted: boolean
  /** End of the grant in true time; only elapsed time counts. */
  grantEndsMs: number
  isClaimedTwice: boolean
  isRevoked: boolean
}

/** The real machine; its clock is wrong by `offMs`. */
interface Real {
  machine: ReturnType<typeof activePolicy>
  bundle: CompiledBundle | null
  offMs: number
  revision: number
  /** Remaining time of the grant by the monotonic clock. */
  grantRemainingMs: number
}

function mayBeAllowed(model: Model, target: string, lateMs: number): boolean {
  const { newest } = model
  if (typeof newest === 'string' || model.isClaimedTwice) return false
  if (!newest.allow.includes(target) || newest.deny.includes(target)) return false
  if (model.trueMs - lateMs < newest.expiresMs) return true
  if (isGranted(model) && !model.isRevoked) return true
  return target === 'control.test' || newest.offline.includes(target)
}

function isGranted({ isGranted: isTaken, trueMs, grantEndsMs }: Model): boolean {
  return isTaken && trueMs < grantEndsMs
}

function isAllowed({ machine: { active } }: Real, target: string): boolean {
  const port = target === 'control.test' ? 8420 : 443
  const { decision } = active.decide(
    target.startsWith('/')
      ? { action: 'read', path: target }
      : { action: 'connect:tcp', host: target, port },
  )
  return decision === 'allow'
}

/** Applies one event to the machine and to the model, then compares them. */
class Step implements fc.Command<Model, Real> {
  readonly name: string
  readonly happen: (model: Model, real: Real) => void

  constructor(name: string, happen: Step['happen']) {
    this.name = name
    this.happen = happen
  }

  check(): boolean {
    return true
  }

  run(model: Model, real: Real): void {
    this.happen(model, real)
    model.hasBeenAhead ||= real.offMs > 0
    real.machine.surroundings.nowMs = model.trueMs + real.offMs
    model.hasBeenWrong ||= real.offMs !== 0
    const lateMs = model.hasBeenWrong ? model.lateMs : 0
    const is = EVERYTHING.filter((target) => isAllowed(real, target))
    // Safety: whatever the clock shows, the machine allows only what the model allows.
    const most = EVERYTHING.filter((target) => mayBeAllowed(model, target, lateMs))
    expect(most).toEqual(expect.arrayContaining(is))
    // Liveness: all else stays allowed, or a machine that denies everything would pass.
    const least = EVERYTHING.filter((target) => mayBeAllowed(model, target, 0))
    expect(is).toEqual(expect.arrayContaining(model.hasBeenAhead ? [] : least))
  }

  toString(): string {
    return this.name
  }
}

function compile(drawn: Drawn, model: Model, real: Real): CompiledBundle {
  const at = (hours: number): string => new Date(model.trueMs + hours * HOUR_MS).toISOString()
  real.revision += 1
  const claims = bundleClaims({
    revision: real.revision,
    issued_at: at(-drawn.age),
    stale_at: at(drawn.freshHours - drawn.age),
    expires_at: at(drawn.expiresHours - drawn.age),
    settings: { resolve_unlisted_names: false, offline_allow: drawn.offline },
    policies: [policyOf(...linesOf(drawn, 'connect:tcp')), policyOf(...linesOf(drawn, 'read'))],
  })
  return runSteps(real.machine.active.compile(claims, 'server'))
}

function linesOf(drawn: Drawn, action: 'connect:tcp' | 'read'): RuleLine[] {
  const isOurs = (target: string): boolean => target.startsWith('/') === (action === 'read')
  return (['allow', 'deny'] as const).flatMap((decision): RuleLine[] => {
    const resources = drawn[decision].filter(isOurs)
    return resources.length === 0 ? [] : [[decision, action, ...resources]]
  })
}

type Kind = 'loaded' | 'verified' | 'imported'

function verify(drawn: Drawn, kind: Kind, model: Model, real: Real): void {
  const staleMs = model.trueMs + (drawn.freshHours - drawn.age) * HOUR_MS
  // As `verify-view.ts` does. Before the first view a clock that was set back is not noticed.
  if (kind === 'verified' && real.machine.clock.bounds().expiryMs >= staleMs) return
  if (typeof model.newest === 'string' && model.trueMs >= staleMs) return
  const bundle = compile(drawn, model, real)
  real.machine.active.apply({ kind, bundle })
  if (kind === 'loaded' && model.newest !== 'nothing') return
  real.bundle = bundle
  const expiresMs = model.trueMs + (drawn.expiresHours - drawn.age) * HOUR_MS
  model.newest = { ...drawn, expiresMs }
  model.lateMs = Math.max(model.lateMs, drawn.freshHours * HOUR_MS)
}

function meetUnreadable(model: Model, { machine }: Real): void {
  const issued_at = new Date(model.trueMs).toISOString()
  const bundle = { kind: 'unsupported', revision: 1, issued_at, stale_at: issued_at } as const
  machine.active.apply({ kind: 'verified', bundle })
  model.newest = 'unreadable'
}

/** Restarts the machine with its kept state; it learns all other facts again. */
function restart(model: Model, real: Real): void {
  const kept = real.machine.clock.kept()
  // Unconditionally, because the grant itself is kept.
  const goesOn = isGranted(model)
  real.machine = openMachine(real)
  real.machine.surroundings.nowMs = model.trueMs + real.offMs
  real.machine.clock.restore(kept)
  Object.assign(model, { isGranted: goesOn, isClaimedTwice: false, isRevoked: false })
  if (model.newest === 'damaged') model.newest = 'nothing'
  if (model.newest === 'unreadable') meetUnreadable(model, real)
  if (typeof model.newest !== 'string' && real.bundle !== null)
    real.machine.active.apply({ kind: 'loaded', bundle: real.bundle })
  if (goesOn) real.machine.active.apply({ kind: 'grant_resumed' })
}

function openMachine(real: Pick<Real, 'grantRemainingMs'>): Real['machine'] {
  const machine = activePolicy()
  machine.surroundings.isGrantOver = () => real.grantRemainingMs <= 0
  return machine
}

/** Asks for a grant; it begins only if a grant is possible. */
function beginGrant(hours: number, model: Model, real: Real): void {
  const { active } = real.machine
  const isPossible = typeof model.newest !== 'string' && !model.isClaimedTwice && !model.isRevoked
  expect(active.mayBreakGlass()).toBe(isPossible)
  if (!isGranted(model) && isPossible) {
    real.grantRemainingMs = hours * HOUR_MS
    Object.assign(model, { isGranted: true, grantEndsMs: model.trueMs + hours * HOUR_MS })
  }
  active.apply({ kind: 'grant_accepted' })
}

/** An event of the machine, and its effect on the model. */
function event(sent: PolicyEvent, change: (model: Model) => Partial<Model> = () => ({})): Step {
  return new Step(sent.kind, (model, { machine }) => {
    machine.active.apply(sent)
    Object.assign(model, change(model))
  })
}

const EVENTS = [
  event({ kind: 'damaged' }, ({ newest }) => (newest === 'nothing' ? { newest: 'damaged' } : {})),
  event({ kind: 'unchanged' }),
  event({ kind: 'away' }),
  event({ kind: 'refused' }),
  event({ kind: 'revoked' }, () => ({ isRevoked: true })),
  event({ kind: 'readmitted' }, () => ({ isRevoked: false })),
  event({ kind: 'second_enrolment' }, () => ({ isClaimedTwice: true })),
  event({ kind: 'single_enrolment' }, () => ({ isClaimedTwice: false })),
  event({ kind: 'grant_ended' }, () => ({ isGranted: false })),
  new Step('unreadable', meetUnreadable),
  new Step('restart', restart),
]

const drawn = fc.record<Drawn>({
  allow: fc.subarray(EVERYTHING, { minLength: 2 }),
  deny: fc.subarray(EVERYTHING, { maxLength: 2 }),
  offline: fc.subarray(HOSTS),
  age: fc.integer({ min: 0, max: 100 }),
  freshHours: fc.integer({ min: 1, max: 48 }),
  expiresHours: fc.integer({ min: 1, max: 720 }),
})

function view(kind: Kind): fc.Arbitrary<Step> {
  return drawn.map(
    (each) =>
      new Step(`${kind} ${JSON.stringify(each)}`, (model, real) => verify(each, kind, model, real)),
  )
}

const time = fc.integer({ min: 1, max: 200 }).map(
  (hours) =>
    new Step(`${hours} hours pass`, (model, real) => {
      const { machine } = real
      model.trueMs += hours * HOUR_MS
      machine.surroundings.uptimeMs += hours * HOUR_MS
      real.grantRemainingMs -= hours * HOUR_MS
    }),
)

const grant = fc
  .integer({ min: 1, max: 400 })
  .map(
    (hours) =>
      new Step(`grant for ${hours} hours`, (model, real) => beginGrant(hours, model, real)),
  )

const clock = fc
  .oneof(
    { arbitrary: fc.integer({ min: -5 * YEAR_HOURS, max: 0 }), weight: 4 },
    { arbitrary: fc.integer({ min: 1, max: 5 * YEAR_HOURS }), weight: 1 },
  )
  .map(
    (hours) =>
      new Step(`clock wrong by ${hours} hours`, (_model, real) => {
        real.offMs = hours * HOUR_MS
      }),
  )

const addresses = fc.subarray(['198.51.100.1', '198.51.100.2']).map(
  (each) =>
    new Step(`addresses ${each.join()}`, (_model, { machine }) => {
      machine.surroundings.machineAddresses = each
    }),
)

it('no event lets the machine allow a request that the newest verified bundle denies', () => {
  const steps = [
    view('verified'),
    view('imported'),
    view('loaded'),
    time,
    time,
    grant,
    clock,
    addresses,
  ]
  const commands = fc.commands([...steps, fc.constantFrom(...EVENTS), fc.constantFrom(...EVENTS)], {
    size: '+1',
    maxCommands: 40,
  })
  const seed = seedOfRun()
  fc.assert(
    fc.property(commands, (sequence) => {
      fc.modelRun(() => {
        const model: Model = {
          newest: 'nothing',
          trueMs: NOW_MS,
          hasBeenAhead: false,
          hasBeenWrong: false,
          lateMs: 0,
          isGranted: false,
          grantEndsMs: 0,
          isClaimedTwice: false,
          isRevoked: false,
        }
        const drawnReal = { grantRemainingMs: 0, bundle: null, offMs: 0, revision: 0 }
        const real: Real = Object.assign(drawnReal, { machine: openMachine(drawnReal) })
        return { model, real }
      }, sequence)
    }),
    { seed, numRuns: casesOfRun(RUNS) },
  )
})
