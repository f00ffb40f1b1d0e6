export {
  type ProfileAction,
  type ProfileHeld,
  type ProfilePlan,
  type ProfileSeen,
  type ProfileWorkload,
  planProfile,
} from './plan-profile.ts';
