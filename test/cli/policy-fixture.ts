/** A policy file with one allow and one deny in each domain. */
export const POLICY_FILE = {
  home: '/home/dev',
  policies: [
    {
      id: 'pol_web',
      name: 'web',
      allowlist_v0: {
        rules: [
          rule('rule_api api', 'allow connect:tcp', ['*.example.com:443']),
          rule('rule_bad bad', 'deny connect:tcp', ['bad.example.com']),
          rule('rule_lan lan', 'allow connect:tcp', ['2001:db8::/32', '192.0.2.0/24']),
        ],
      },
    },
    {
      id: 'pol_files',
      name: 'files',
      allowlist_v0: { rules: [rule('rule_work work', 'allow read', ['~/work/**'])] },
    },
  ],
}

/** A rule of one action from "id name" and "decision action". */
export function rule(labels: string, effect: string, resources: readonly string[]): unknown {
  const [id, name] = labels.split(' ')
  const [decision, action] = effect.split(' ')
  return { id, name, actions: [action], decision, resources }
}
