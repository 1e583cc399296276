import { dirname } from 'node:path'
import { printable } from '../../terminal/printable.ts'
import type { RunRequest } from '../run-request.ts'
import { findProfileFile, PROFILE_FILE } from './find-profile-file.ts'
import type { Profile } from './profile.ts'
import { readProfiles } from './read-profiles.ts'

export interface ProfileEnvironment {
  readonly cwd: string
  readonly home: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** The id of the user, who must own the file. */
  readonly uid: number
}

export type AppliedProfile =
  /** The options of the person and of the profile; `notice` tells what the profile adds. */
  | { readonly kind: 'applied'; readonly request: RunRequest; readonly notice: string }
  | { readonly kind: 'refused'; readonly problems: readonly string[] }

/**
 * Adds a profile of the project to the options of the person. A program in an earlier sandbox may
 * have written the file, so the notice names all that it adds; options of the person win.
 */
export async function applyProfile(
  name: string,
  asked: RunRequest,
  from: ProfileEnvironment,
): Promise<AppliedProfile> {
  const file = await findProfileFile(from.cwd, from.uid)
  if (file.kind === 'missing') {
    const where = file.searched === from.cwd ? 'here' : `here or up to ${file.searched}`
    return refused(`there is no ${PROFILE_FILE} ${where}; docs/profiles.md shows how to write one`)
  }
  if (file.kind === 'refused') return refused(`${file.path}: ${file.why}`)
  const read = readProfiles(file.path, file.text)
  if (read.kind === 'invalid') return refused(...read.problems)
  const profile = read.profiles.find((each) => each.name === name)
  if (profile === undefined) return refused(describeMissing(name, file.path, read.profiles))
  const request = combine(profile, asked, dirname(file.path), from)
  const notice = describeProfile(profile, request, file.path)
  return { kind: 'applied', request, notice }
}

function combine(
  profile: Profile,
  asked: RunRequest,
  directory: string,
  { home, env }: ProfileEnvironment,
): RunRequest {
  const askedLimits = new Set(asked.limit.flatMap((text) => text.split(',').map(nameOf)))
  const limits = profile.limits.filter(([name]) => !askedLimits.has(name))
  const askedNames = new Set(asked.env.map(nameOf))
  // A profile for several machines may name variables that this person has no use for.
  const variables = profile.env.filter((name) => Object.hasOwn(env, name) && !askedNames.has(name))
  return {
    ...asked,
    command: asked.command ?? profile.command,
    workspace: [
      ...profile.workspaces.map((path) => absolute(path, directory, home)),
      ...asked.workspace,
    ],
    env: [...variables, ...asked.env],
    publish: [...new Set([...profile.publish, ...asked.publish])],
    limit: [...limits.map(([name, value]) => `${name}=${value}`), ...asked.limit],
  }
}

/** `.` and a suffix stay for `parseWorkspace`. */
function absolute(path: string, directory: string, home: string): string {
  if (path.startsWith('/')) return path
  if (path.startsWith('~/')) return `${home}/${path.slice(2)}`
  return /^\.(?::r[ow])?$/.test(path) ? `${directory}${path.slice(1)}` : `${directory}/${path}`
}

function nameOf(text: string): string {
  return text.split('=', 1)[0] ?? ''
}

function describeMissing(name: string, path: string, profiles: readonly Profile[]): string {
  const names = profiles.map((profile) => profile.name).join(', ')
  if (name === '') return `name a profile of ${path}: ${names}`
  return `${path} has no profile \`${name}\`; it has ${names === '' ? 'none' : names}`
}

function describeProfile(profile: Profile, request: RunRequest, path: string): string {
  const { workspace, env, limit, publish, command } = request
  const parts = [
    profile.workspaces.length > 0 ? `workspaces ${workspace.join(', ')}` : null,
    profile.env.length > 0 ? `passes ${env.map(nameOf).join(', ') || 'no variable'}` : null,
    profile.limits.length > 0 ? `limits ${limit.join(',')}` : null,
    profile.publish.length > 0 ? `publishes ${publish.join(', ')}` : null,
    command === profile.command && command !== null ? `runs ${command.join(' ')}` : null,
  ].filter((part) => part !== null)
  return printable(`palisade: profile ${profile.name} of ${path}: ${parts.join('; ')}`)
}

function refused(...problems: readonly string[]): AppliedProfile {
  return { kind: 'refused', problems }
}
