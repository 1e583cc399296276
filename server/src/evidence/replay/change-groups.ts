import type { Decision, RuleMatch } from '@palisade/policy-core'

/** A decision as a change shows it. */
export interface ReplayedDecision {
  readonly decision: Decision['decision']
  readonly reason: Decision['reason']
  readonly rules: readonly RuleMatch[]
}

/** The decisions and the rules of a change; many targets share them. */
interface Shape {
  readonly action: string
  readonly before: ReplayedDecision
  readonly after: ReplayedDecision
  /** Numbers of groups by target. */
  readonly groupOf: Map<string, number>
}

/** A group without its records. */
export interface ChangeGroup extends Pick<Shape, 'action' | 'before' | 'after'> {
  readonly target: string
}

/** Numbers for changes: one for each target and the rules that decide before and after. */
export interface ChangeGroups {
  numberOf(before: Decision, after: Decision): number
  /** Numbers below this one are given. */
  size(): number
  get(group: number): ChangeGroup
}

/** A group takes little more than the text of its target: a draft may change a million of them. */
export function createChangeGroups(): ChangeGroups {
  const shapes = new Map<string, Shape>()
  const targets: string[] = []
  const shapeOf: Shape[] = []
  return {
    numberOf(before, after) {
      const { action, target } = targetOf(before)
      const key = JSON.stringify([action, ...keyOf(before), null, ...keyOf(after)])
      const shape = shapes.get(key) ?? {
        action,
        before: shorten(before),
        after: shorten(after),
        groupOf: new Map(),
      }
      shapes.set(key, shape)
      const known = shape.groupOf.get(target)
      if (known !== undefined) return known
      const group = targets.push(target) - 1
      shapeOf.push(shape)
      shape.groupOf.set(target, group)
      return group
    },
    size: () => targets.length,
    get(group) {
      const shape = shapeOf[group]
      if (shape === undefined) throw new RangeError('no such group')
      const { action, before, after } = shape
      return { action, target: targets[group] ?? '', before, after }
    },
  }
}

function targetOf({ request }: Decision): Pick<ChangeGroup, 'action' | 'target'> {
  if (request === null) return { action: '', target: '' }
  const { action } = request
  return { action, target: 'path' in request ? request.path : `${request.host}:${request.port}` }
}

function keyOf({ decision, reason, rules }: Decision): string[] {
  return [
    decision,
    reason,
    ...rules.map(({ rule_id, resource }) => JSON.stringify([rule_id, resource])),
  ]
}

function shorten({ decision, reason, rules }: Decision): ReplayedDecision {
  return { decision, reason, rules }
}
