// SPDX-License-Identifier: Apache-2.0
#include "fit/fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace longship::fit {
namespace {

using testing::HasSubstr;

const HostFacts rhel8 = {"x86_64", Version(4, 18)};

Finding about(const std::vector<Finding>& findings, std::string_view what) {
  for (const auto& finding : findings)
    if (finding.about == what) return finding;
  ADD_FAILURE() << "nothing is said about " << what;
  return {};
}

TEST(FitTest, AnOrdinaryImageFitsAnOrdinaryHost) {
  const auto findings = verdict({"amd64", Version(2, 36), Version(3, 2)}, rhel8);
  EXPECT_EQ(findings.size(), 3u);
  EXPECT_EQ(worst(findings), Fit::good);
  for (const auto& finding : findings) EXPECT_EQ(finding.remedy, "") << finding.about;
}

TEST(FitTest, AnotherArchitectureCannotStart) {
  const auto findings = verdict({"arm64", Version(2, 36), Version(3, 7)}, rhel8);
  EXPECT_EQ(worst(findings), Fit::none);
  const auto finding = about(findings, "architecture");
  EXPECT_EQ(finding.reason, "the image is for aarch64, this machine is x86_64");
  EXPECT_THAT(finding.remedy, HasSubstr("x86_64"));
}

TEST(FitTest, AKernelTooOldForTheImageIsNamed) {
  const auto findings = verdict({"x86_64", Version(2, 40), Version(5, 4)}, rhel8);
  EXPECT_EQ(worst(findings), Fit::none);
  EXPECT_THAT(about(findings, "kernel").reason, HasSubstr("before Linux 5.4, this machine has 4.18"));
}

TEST(FitTest, AnOldGlibcRunsProgramsButNotOurLibrary) {
  const auto findings = verdict({"x86_64", Version(2, 17), Version(2, 6, 32)}, rhel8);
  EXPECT_EQ(worst(findings), Fit::limited);
  EXPECT_THAT(about(findings, "C library").reason,
              HasSubstr("glibc 2.17: programs run, but \"import longship\" does not"));
}

TEST(FitTest, GlibcExactlyAsNeededIsEnough) {
  EXPECT_EQ(about(verdict({"x86_64", longship_needs_glibc, {}}, rhel8), "C library").fit, Fit::good);
}

TEST(FitTest, AnImageWithoutGlibcIsLimited) {
  const auto findings = verdict({"x86_64", {}, {}}, rhel8);
  EXPECT_EQ(worst(findings), Fit::limited);
  EXPECT_THAT(about(findings, "C library").remedy, HasSubstr("glibc 2.28"));
}

TEST(FitTest, WhatIsNotKnownIsNotJudged) {
  const auto findings = verdict({"", Version(2, 31), {}}, rhel8);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].about, "C library");
}

Finding about_mpi(const std::string& image, const std::string& host, std::vector<std::string> pmi) {
  ImageFacts facts{"x86_64", Version(2, 36), {}};
  facts.mpi = image;
  return about(verdict(facts, {"x86_64", Version(5, 14), host, std::move(pmi)}, true), "MPI");
}

TEST(FitTest, AnMpiJobNeedsAnImageOfTheSitesFamily) {
  EXPECT_EQ(about_mpi("openmpi 4.1.4", "openmpi 5.0", {"none", "pmix", "pmix_v4"}).fit, Fit::good);
  const auto wrong = about_mpi("openmpi 4.1.4", "mpich 4.0.2", {});
  EXPECT_EQ(wrong.fit, Fit::none);
  EXPECT_EQ(wrong.reason, "the image has Open MPI, the MPI of the site is MPICH");
  EXPECT_EQ(wrong.remedy, "build a variant of the image with MPICH");
}

TEST(FitTest, AnMpiJobNeedsALauncherThatSpeaksItsLanguage) {
  EXPECT_EQ(about_mpi("openmpi 4.1.4", "", {"pmix_v4"}).fit, Fit::good);
  EXPECT_EQ(about_mpi("mpich 4.0.2", "", {"none", "pmi2"}).fit, Fit::good);
  const auto wrong = about_mpi("openmpi 4.1.4", "", {"none", "pmi2"});
  EXPECT_EQ(wrong.fit, Fit::none);
  EXPECT_THAT(wrong.reason,
              HasSubstr("needs a launcher that speaks pmix, and the one of the site offers none, pmi2"));
  EXPECT_THAT(wrong.remedy, HasSubstr("with MPICH"));
  EXPECT_THAT(about_mpi("mpich", "", {"none"}).remedy, HasSubstr("pmi2 plugin"));
}

TEST(FitTest, AnMpiJobWithoutKnownHostOrImageIsGivenTheBenefitOfTheDoubt) {
  EXPECT_EQ(about_mpi("mpich 4.0.2", "", {}).fit, Fit::good);
  EXPECT_EQ(about_mpi("", "mpich", {"pmi2"}).fit, Fit::limited);
}

TEST(FitTest, ImagesAndKernelsUseDifferentWordsForOneArchitecture) {
  EXPECT_EQ(kernel_architecture("amd64"), "x86_64");
  EXPECT_EQ(kernel_architecture("arm64"), "aarch64");
  EXPECT_EQ(kernel_architecture("ppc64le"), "ppc64le");
}

}  // namespace
}  // namespace longship::fit
